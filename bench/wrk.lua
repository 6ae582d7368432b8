-- Print the result as one line of JSON. With BENCH_PAUSE, each connection waits so many milliseconds on average between requests.
-- BENCH_BODY is the JSON body of a POST.
local pause = tonumber(os.getenv("BENCH_PAUSE") or "0")

if pause > 0 then
  function delay()
    return math.random(1, 2 * pause - 1)
  end
end

if os.getenv("BENCH_BODY") then
  wrk.method, wrk.body = "POST", os.getenv("BENCH_BODY")
  wrk.headers["Content-Type"] = "application/json"
end

done = function(summary, latency, _)
  local failed = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"bytes":%d,"microseconds":%d,"failed":%d,"median":%d,"slow":%d,"slowest":%d}\n',
    summary.requests, summary.bytes, summary.duration,
    failed.connect + failed.read + failed.write + failed.status + failed.timeout,
    latency:percentile(50), latency:percentile(99), latency.max))
end
