#!/bin/bash
# Whether the daemon (7341) or the service of published knowledge (7342) of this container is ready.
# Without curl: bash opens the connection itself.
for port in ${REPRISE_HEALTH_PORT:-7342 7341}; do
    exec 3<>"/dev/tcp/127.0.0.1/$port" || continue
    printf 'GET /health/ready HTTP/1.1\r\nhost: 127.0.0.1:%s\r\nconnection: close\r\n\r\n' "$port" >&3
    read -r -t 2 _ status _ <&3
    exec 3>&-
    [ "$status" = 200 ] && exit 0
done 2>/dev/null
exit 1
