"""How Hypothesis works in these tests.

Import it wherever Hypothesis is used: most tests do without it, and start sooner.
"""

from hypothesis import HealthCheck, settings

# Machines that run tests are loaded: an example that took long says nothing about the code. Nor do the examples that a
# rare seed has drawn in vain before the first good ones.
DRAWN_IN_VAIN = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
settings.register_profile("jobrunner", deadline=None, print_blob=True, suppress_health_check=DRAWN_IN_VAIN)
settings.load_profile("jobrunner")
