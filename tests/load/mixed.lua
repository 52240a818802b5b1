-- wrk's requests: of ten, nine recalls and one record, over 100 users. TOKEN is in the environment.
local token = os.getenv("TOKEN")
local words = { "token", "refresh", "race", "deploy", "image", "tag", "cache", "index", "lock", "test",
  "build", "merge", "branch", "queue", "retry", "timeout", "schema", "daemon", "socket", "batch" }
local all = {}
refused, unnamed, failed = 0, 0, 0

function setup(thread)
  thread:set("number", #all)
  table.insert(all, thread)
end

function init()
  math.randomseed(number + 1)
  sent = 0
  wrk.headers["Authorization"] = "Bearer " .. token
  wrk.headers["Content-Type"] = "application/json"
end

local function text(length)
  local said = {}
  for i = 1, length do said[i] = words[math.random(#words)] end
  return table.concat(said, " ")
end

function request()
  local user = "/v1/users/load" .. math.random(100)
  sent = sent + 1
  if sent % 10 == 0 then
    local record = string.format('{"text": "%s %d-%d"}', text(20), number, sent)
    return wrk.format("POST", user .. "/records", nil, record)
  end
  return wrk.format("POST", user .. "/recall", nil, string.format('{"query": "%s"}', text(6)))
end

function response(status, headers)
  if status == 429 then
    refused = refused + 1
    if not (headers["Retry-After"] or headers["retry-after"]) then unnamed = unnamed + 1 end
  elseif status ~= 200 then
    failed = failed + 1
  end
end

function done(summary, latency)
  local refused, unnamed, failed = 0, 0, 0
  for _, thread in ipairs(all) do
    refused = refused + thread:get("refused")
    unnamed = unnamed + thread:get("unnamed")
    failed = failed + thread:get("failed")
  end
  local broken = summary.errors
  io.write(string.format(
    "FIGURES requests=%d p50_ms=%.2f p99_ms=%.2f ratio=%.1f refused=%d without_retry_after=%d other=%d broken=%d\n",
    summary.requests, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    latency:percentile(99) / latency:percentile(50), refused, unnamed, failed,
    broken.connect + broken.read + broken.write + broken.timeout))
end
