"""Prepares the Keystone configured in the working directory and serves it. Called by keystone-dev.

To import Keystone takes most of its start-up time. So it is imported once, each keystone-manage command runs in a
fork, and the same process then becomes the server. Keystone caches in memory here, hence in one worker process:
several would not see each other's changes.
"""
import os
import sqlite3
import sys

import gunicorn.app.base
import keystone.cmd.manage
import keystone.server.wsgi

PORT = sys.argv[1]
HOME = os.getcwd()
CONF = os.path.join(HOME, "keystone.conf")
URL = f"http://127.0.0.1:{PORT}/v3"

# Once eventlet is imported, oslo.log uses green locks, which do not work with plain threads.
sys.modules.pop("eventlet", None)


def keystone_manage(*arguments):
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"keystone-manage {arguments[0]} failed")
        return
    sys.argv = ["keystone-manage", "--config-file", CONF, *arguments]
    try:
        keystone.cmd.manage.main()
        os._exit(0)
    except SystemExit as error:
        os._exit(1 if error.code else 0)
    except BaseException as error:
        print(arguments[0], repr(error), file=sys.stderr, flush=True)
        os._exit(1)


class Server(gunicorn.app.base.BaseApplication):
    def load_config(self):
        self.cfg.set("bind", f"127.0.0.1:{PORT}")
        self.cfg.set("worker_class", "gthread")
        self.cfg.set("threads", 8)
        self.cfg.set("preload_app", True)
        self.cfg.set("graceful_timeout", 1)
        self.cfg.set("limit_request_field_size", 65536)

    def load(self):
        os.environ["OS_KEYSTONE_CONFIG_FILES"] = CONF
        sys.argv = sys.argv[:1]
        return keystone.server.wsgi.initialize_public_application()


# With SQLite's default journal, a reader makes a writer fail.
with sqlite3.connect("keystone.db") as database:
    database.execute("PRAGMA journal_mode=WAL")
owner = ["--keystone-user", str(os.getuid()), "--keystone-group", str(os.getgid())]
keystone_manage("db_sync")
keystone_manage("fernet_setup", *owner)
keystone_manage("credential_setup", *owner)
keystone_manage(
    "bootstrap", "--bootstrap-password", "admin-pass", "--bootstrap-region-id", "RegionOne",
    "--bootstrap-public-url", URL, "--bootstrap-internal-url", URL, "--bootstrap-admin-url", URL)
Server().run()
