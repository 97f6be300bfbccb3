"""What ``jobrunner mcp`` gives to an agent: commands as tools of the Model Context Protocol.

``tools`` has the table, and makes the descriptions and schemas from the commands. ``calls`` calls a command and cleans
its answer. ``changes`` lets a change come only after its dry run. ``server`` speaks the protocol, and is the only
module that imports its library.
"""
