"""The SDK servers of the agent with a test in the agent's place (sdk_stand.cpp)."""

import http.client
import json
import subprocess


class Stand:
    def __init__(self, program, kind, count):
        self.process = subprocess.Popen([program, kind, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.environments = [json.loads(self.process.stdout.readline()) for _ in range(count)]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(20)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def facts(self, number):
        """Each as "kind lobby reason", without what is empty."""
        return [fact.strip() for fact in self.tell(f"facts {number}")["facts"]]

    def http_port(self, number):
        return int(self.environments[number]["AGONES_SDK_HTTP_PORT"])


def ask(port, method, path, body=None, headers=None):
    """The status of the answer and its JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, body if isinstance(body, (str, bytes, type(None))) else json.dumps(body), headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, json.loads(text)
