"""A small web service for trying things out: `python3 service.py PORT`. It says yes to everything, and once for each key."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DONE = {}


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        key = self.headers.get("idempotency-key")
        if key not in DONE:  # what is asked again under the same key is done once
            DONE[key] = {"id": f"{len(DONE) + 1}", "asked": json.loads(body or "null")}
            print(f"{self.command} {self.path} {body.decode()}", flush=True)
        text = json.dumps(DONE[key]).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
