"""Debian's nginx in front of servers of a test, with and without TLS."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from harness.debian import NoProgram, find
from harness.processes import Patient
from harness.waiting import wait_for

CERTIFICATE = Path(__file__).with_name("certificate.pem")
CONF = """
daemon off;
{user}worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ text/html html; }}
    ssl_certificate {certificate};
    ssl_certificate_key {certificate};
    {servers}
}}
"""


@contextmanager
def nginx(folder: Path, servers: Mapping[str, str]) -> Iterator[dict[str, int]]:
    """The ports of servers, by their names, each with these lines of configuration. Those named https have TLS."""
    try:
        program, environment = find("nginx", "usr/sbin/nginx", "nginx")
    except NoProgram as problem:
        pytest.skip(str(problem))
    folder.mkdir()
    with ExitStack() as stack:
        # nginx takes over listening sockets, so that no port can be lost to somebody else in between.
        sockets = {name: stack.enter_context(socket.create_server(("127.0.0.1", 0))) for name in servers}
        ports = {name: each.getsockname()[1] for name, each in sockets.items()}
        lines = []
        for name, inside in servers.items():
            sockets[name].setblocking(False)
            tls = " ssl" if name.startswith("https") else ""
            lines.append(f"server {{ listen 127.0.0.1:{ports[name]}{tls}; {inside} }}")
        conf = folder / "nginx.conf"
        # The worker reads the folders of a test, which are ours.
        user = "user root; " if os.geteuid() == 0 else ""
        conf.write_text(CONF.format(folder=folder, certificate=CERTIFICATE, user=user, servers="\n".join(lines)))
        descriptors = [each.fileno() for each in sockets.values()]
        process = Patient(
            [program, "-p", folder, "-c", conf, "-e", "stderr"],
            env={**os.environ, **environment, "NGINX": "".join(f"{each};" for each in descriptors)},
            pass_fds=descriptors,
            stderr=stack.enter_context((folder / "stderr").open("w")),
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        said = (folder / "stderr").read_text
        wait_for((folder / "nginx.pid").exists, 20, said)
        assert process.poll() is None, said()
        yield ports
