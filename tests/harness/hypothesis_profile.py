"""How Hypothesis works in these tests.

Import it wherever Hypothesis is used: most tests do without it, and start sooner.
"""

from hypothesis import settings

# Machines that run tests are loaded: an example that took long says nothing about the code.
settings.register_profile("jobrunner", deadline=None, print_blob=True)
settings.load_profile("jobrunner")
