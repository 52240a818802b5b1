"""TLS before a PostgreSQL server that has none: answers a client's wish for it, and hands on.

python3 tls.py CERTIFICATE KEY SOCKET

Its port on 127.0.0.1 is its only output. It ends with its standard input.
"""

import os
import socket
import ssl
import sys
import threading

# The first message of a client that wants TLS: its length and a number.
WISH = b"\0\0\0\x08\x04\xd2\x16\x2f"


def hand_on(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def serve(client, context, path):
    if client.recv(len(WISH)) != WISH:
        client.close()
        return
    client.sendall(b"S")
    try:
        client = context.wrap_socket(client, server_side=True)
    except OSError:
        return
    server = socket.socket(socket.AF_UNIX)
    server.connect(path)
    threading.Thread(target=hand_on, args=(client, server), daemon=True).start()
    hand_on(server, client)


def main():
    certificate, key, path = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    door.listen()
    print(door.getsockname()[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    while True:
        client, _ = door.accept()
        threading.Thread(target=serve, args=(client, context, path), daemon=True).start()


main()
