"""Where settings come from: options, the environment, env files and jobrunner.toml."""
