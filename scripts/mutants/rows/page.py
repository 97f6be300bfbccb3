"""The page."""

from table import Drop, Mutation, Swap

from rows.names import STORE

WEB = "jobrunner/web"
MASKING = "jobrunner/masking"
GUARDED = "tests/web/test_web_guarded.py"
MASKED = "tests/web/test_web_masked.py"
SIGN_IN = "tests/web/test_web_sign_in.py"
ACTIONS = "tests/web/test_web_actions.py"

MUTATIONS = (
    Mutation(
        "page for whoever asks",
        f"{WEB}/core.py:Web._respond",
        Swap("request.visitor is None", "False"),
        [f"{GUARDED}::test_every_route_needs_a_visitor_and_every_form_its_verb"],
    ),
    Mutation(
        "page whose forms need no right",
        f"{WEB}/core.py:Web._respond",
        Swap("found.route.verb not in request.visitor.verbs", "False"),
        [f"{GUARDED}::test_every_route_needs_a_visitor_and_every_form_its_verb"],
    ),
    Mutation(
        "page that takes the forms of other sites",
        f"{WEB}/core.py:Web._respond",
        Swap("foreign(request)", "None"),
        [f"{GUARDED}::test_request_of_another_site_changes_nothing"],
    ),
    Mutation(
        "page that takes forms of the same domain",
        f"{WEB}/guard.py:foreign",
        Swap('site == "same-origin"', 'site != "cross-site"'),
        [f"{GUARDED}::test_request_of_another_site_changes_nothing"],
    ),
    Mutation(
        "page that believes any Origin",
        f"{WEB}/guard.py:foreign",
        Swap('host and origin.lower() == f"{request.scheme}://{host}".lower()', "bool(host)"),
        [f"{GUARDED}::test_request_of_another_site_changes_nothing"],
    ),
    Mutation(
        "page that runs scripts within it",
        f"{WEB}/guard.py:HEADERS",
        Swap('f"{name} {value}"', "f\"{name} {value} 'unsafe-inline'\""),
        [f"{GUARDED}::test_every_response_has_the_headers_that_protect_it"],
    ),
    Mutation(
        "page that does not escape",
        f"{WEB}/rendering.py:_environment",
        Drop("autoescape=True"),
        [f"{GUARDED}::test_hostile_texts_in_every_column_are_text_on_every_page"],
    ),
    Mutation(
        "page that shows secrets",
        f"{MASKING}/values.py:Names.hide",
        Swap("_masked(each)", "each"),
        [f"{MASKED}::test_secrets_of_a_run_reach_no_page_and_no_json"],
    ),
    Mutation(
        "page that shows secrets in the texts of lists",
        f"{WEB}/masking.py:Masks.known",
        Swap("run_values.of_runs(connection, runs - told)", "run_values.of_runs(connection, set())"),
        [f"{MASKED}::test_secret_in_an_error_stands_on_no_page_that_lists_runs"],
    ),
    Mutation(
        "page that shows secrets whose numbers are left out",
        f"{MASKING}/secrets.py:_written",
        Swap("any(each.isdigit() for each in text)", "not text"),
        [f"{MASKED}::test_secret_in_an_error_stands_on_no_page_that_lists_runs"],
    ),
    Mutation(
        "page that reads long payloads for a list",
        f"{STORE}/questions/runs/run_values.py:of_runs",
        Drop("size <= _MOST_CHARACTERS"),
        [f"{MASKED}::test_error_of_a_run_whose_payload_is_long_stands_on_its_page_only"],
    ),
    Mutation(
        "page whose link is good twice",
        f"{WEB}/sign_in.py:LinkSignIn.enter",
        Drop("self._renew()"),
        ["tests/web/test_web_server.py::test_page_is_closed_to_all_but_the_browser_with_the_link"],
    ),
    Mutation(
        "page that keeps who was taken out of the user file",
        f"{WEB}/sign_in.py:PasswordSignIn.enter",
        Swap("person is not None and not people.has(person)", "False"),
        [f"{SIGN_IN}::test_person_who_is_taken_out_of_the_user_file_or_changed_there_is_signed_out_at_once"],
    ),
    Mutation(
        "page on which passwords can be tried at will",
        f"{WEB}/sign_in.py:PasswordSignIn._sign_in",
        Swap("(left := self._tries.begin(origin)) > 0", "(left := self._tries.begin(origin)) > 1e9"),
        [f"{SIGN_IN}::test_only_the_right_password_signs_in_and_wrong_tries_make_their_own_address_wait"],
    ),
    Mutation(
        "page that believes a name of anybody",
        f"{WEB}/sign_in.py:ProxySignIn.enter",
        Swap("address(request.peer) not in self._proxies", "False"),
        [f"{SIGN_IN}::test_name_in_a_header_counts_only_from_a_proxy"],
    ),
    Mutation(
        "page that believes the second name",
        f"{WEB}/sign_in.py:ProxySignIn.enter",
        Drop('"," in name'),
        [f"{SIGN_IN}::test_name_in_a_header_counts_only_from_a_proxy"],
    ),
    Mutation(
        "page that answers to any host",
        f"{WEB}/standalone.py:Standalone.respond",
        Swap('_name_in(request.headers.get("host", "")) not in self._names', "False"),
        ["tests/web/test_web_server.py::test_page_is_closed_to_all_but_the_browser_with_the_link"],
    ),
    Mutation(
        "page whose cookie scripts can read",
        f"{WEB}/sign_in.py:Sessions._sent",
        Swap(
            'f"{self._name}={secret}; HttpOnly; SameSite=Strict; Max-Age={seconds}"',
            'f"{self._name}={secret}; Max-Age={seconds}"',
        ),
        [f"{SIGN_IN}::test_cookie_of_a_session_is_for_this_host_and_no_script_and_over_https_for_https_only"],
    ),
    Mutation(
        "page that changes many runs unasked",
        f"{WEB}/pages/bulk.py:change",
        Swap("call.is_agreed", "call.form"),
        [f"{ACTIONS}::test_all_runs_that_match_are_counted_and_asked_before_they_change"],
    ),
    Mutation(
        "page with buttons for a database that is read-only",
        f"{WEB}/call.py:Call.verbs",
        Swap("self.access.is_writable", "True"),
        [f"{ACTIONS}::test_page_of_a_database_that_is_read_only_has_no_buttons"],
    ),
    Mutation(
        "form with a mistake that loses what was typed",
        f"{WEB}/core.py:_viewed",
        Swap("route.form is None or call.wants_json", "True"),
        ["tests/web/test_web_mistakes.py::test_backfill_with_a_mistake_keeps_what_was_typed"],
    ),
    Mutation(
        "page that does not say what became of the run",
        f"{WEB}/pages/run.py:show",
        Swap('problem and f"{problem} {_as_it_is(run, at)}"', "problem"),
        [f"{ACTIONS}::test_who_was_too_late_is_told_what_became_of_the_run"],
    ),
    Mutation(
        "page that asks each question alone",
        f"{WEB}/pages/now.py:_read",
        Swap("together(connection, [*overview.questions(), *also, *of_findings])", "connection"),
        [
            "tests/store/test_web_statements.py::test_a_page_sends_at_most_eight_statements_for_one_row_and_for_a_hundred"
        ],
    ),
    Mutation(
        "page that is sent again for its ages",
        f"{WEB}/parts.py:digest",
        Swap(r'_AGES.sub(rb"\1", content)', "content"),
        ["tests/web/test_web_live.py"],
    ),
    Mutation(
        "page that keeps a part that has changed",
        f"{WEB}/parts.py:changed",
        Swap("name in known", "known"),
        ["tests/web/test_web_live.py"],
    ),
    Mutation(
        "page that divides progress by nothing",
        f"{WEB}/pages/timeline.py:_of_one",
        Swap("total > 0", "True"),
        ["tests/unit/test_timeline.py"],
    ),
)
