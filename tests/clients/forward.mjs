// Forwards 127.0.0.1:7350 to the daemon with a token added, for a suite that knows no tokens.
import http from "node:http";

const { TOKEN, PORT } = process.env;
http
  .createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${TOKEN}` };
    headers.host = (headers.host ?? "").replace(":7350", `:${PORT}`);
    if (headers.origin) headers.origin = headers.origin.replace(":7350", `:${PORT}`);
    const forwarded = http.request(
      { host: "127.0.0.1", port: PORT, path: request.url, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      },
    );
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
  })
  .listen(7350, "127.0.0.1");
