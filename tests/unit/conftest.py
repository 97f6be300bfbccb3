"""Most unit tests draw their examples."""

import harness.hypothesis_profile  # noqa: F401 - loads the profile
