"""A chat endpoint on loopback that speaks the protocol over HTTP and answers by a script."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(message, finish="stop", usage=(100, 10), **more):
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **more,
    }
    if usage:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return 200, {}, json.dumps(body).encode()


def native(name, arguments=None, *more, content=None, raw=None, **kwargs):
    """An answer with a tool call in the protocol's form."""
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": each,
                "arguments": json.dumps(given or {}) if raw is None else raw,
            },
        }
        for number, (each, given) in enumerate([(name, arguments), *more])
    ]
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    return completion(message, "tool_calls", **kwargs)


def text(content, **kwargs):
    """An answer in text."""
    return completion({"role": "assistant", "content": content}, **kwargs)


def error(status, message, **headers):
    """A refusal in the form that the protocol gives it."""
    body = {"error": {"message": message, "type": "error", "code": None}}
    named = {key.replace("_", "-"): str(value) for key, value in headers.items()}
    return status, named, json.dumps(body).encode()


class ChatServer(ThreadingHTTPServer):
    """Answers from ``script``: answers in turn, or a function of the request.

    Beside ``(status, headers, body)`` an answer may be ``"drop"`` (the connection is closed),
    ``"cut"`` (the body ends half way) or ``"slow"`` (there is none until the server closes).
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests, self.headers, self.paths = [], [], [], []
        self.now = self.most = 0
        self.lock, self.closing = threading.Lock(), threading.Event()
        self.times = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def answer(self, request):
        if callable(self.script):
            return self.script(request)
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def handle_error(self, request, client_address):
        """Clients that go away are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        server = self.server
        data = self.rfile.read(int(self.headers["content-length"]))
        with server.lock:
            server.now += 1
            server.most = max(server.most, server.now)
            server.requests.append(json.loads(data))
            server.headers.append(dict(self.headers.items()))
            server.paths.append(self.path)
            server.times.append(time.monotonic())
            answer = server.answer(server.requests[-1])
        try:
            self._send(answer)
        finally:
            with server.lock:
                server.now -= 1

    def _send(self, answer):
        if answer == "drop":
            self.close_connection = True
            return
        if answer == "slow":
            self.server.closing.wait(30)
            self.close_connection = True
            return
        half = answer == "cut"
        status, headers, body = text("half of this") if half else answer
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if half else body)
        self.close_connection = half


@contextmanager
def serving():
    """A server that runs."""
    made = ChatServer()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        made.closing.set()
        made.shutdown()
        made.server_close()
        thread.join()
