"""The options of job types."""

from table import Drop, Mutation, Swap

OPTIONS = "jobrunner/jobs/job_options.py"
TESTS = "tests/application/test_options_of_jobs.py"
VALUES = f"{TESTS}::test_each_kind_of_value_of_an_option_is_kept_whole_or_refused_with_handler_option_and_line"
MISTAKES = f"{TESTS}::test_mistake_in_a_decorator_names_the_handler_the_line_and_what_is_meant"

MUTATIONS = (
    Mutation(
        "option that there is not is ignored",
        f"{OPTIONS}:checked",
        Swap("name not in rows", "False"),
        [MISTAKES],
    ),
    Mutation(
        "name of an option in other libraries is not known",
        f"{OPTIONS}:checked",
        Drop("_OTHER_NAMES.get(name)"),
        [MISTAKES],
    ),
    Mutation(
        "backoff that is no backoff",
        f"{OPTIONS}:Waits.check",
        Swap("type(value) is not Backoff", "False"),
        [VALUES],
    ),
    Mutation(
        "key of any number of arguments",
        f"{OPTIONS}:Names.check",
        Swap("1 <= len(names) <= MOST_NAMES", "1 <= len(names)"),
        [VALUES],
    ),
    Mutation(
        "key of no argument",
        f"{OPTIONS}:Names.check",
        Swap("1 <= len(names) <= MOST_NAMES", "len(names) <= MOST_NAMES"),
        [VALUES],
    ),
    Mutation(
        "key of what can be no argument",
        f"{OPTIONS}:Names.check",
        Drop("not each.isidentifier()"),
        [VALUES],
    ),
    Mutation(
        "key whose name is too long to be stored",
        f"{OPTIONS}:Names.check",
        Drop("len(each) > _MOST_CHARACTERS"),
        [VALUES],
    ),
    Mutation(
        "window that holds no key",
        f"{OPTIONS}:key_window",
        Swap("not length", "False"),
        ["tests/worker/test_keys_of_types.py::test_scope_that_cannot_be_used_is_refused_at_import"],
    ),
)
