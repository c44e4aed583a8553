import ASCII

/// What a request is for, by its method and target.
enum ConsoleRoute: Equatable {
    case call(ConsoleCall)
    case wrongMethod(allow: String)
    /// There is nothing at this path, or what it names cannot be; the sentence says what was expected.
    case unknown(String)

    init(method: String, target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = Self.query(parts.count > 1 ? parts[1] : "")
        let segments = (parts.first ?? "").split(separator: "/").map(String.init)
        switch (segments.first, segments.count) {
        case ("healthz", 1): self = Self.only(["GET", "HEAD"], method) { .health }
        case ("readyz", 1): self = Self.only(["GET", "HEAD"], method) { .readiness(withDetails: false) }
        case ("metrics", 1): self = Self.only(["GET", "HEAD"], method) { .metrics }
        case ("api", 2...): self = Self.api(Array(segments.dropFirst()), method, query)
        default: self = .unknown("expected /healthz, /readyz, /metrics or a path under /api/")
        }
    }

    private static func api(_ segments: [String], _ method: String, _ query: [String: String]) -> ConsoleRoute {
        switch (segments[0], segments.count) {
        case ("reload", 1): return only(["POST"], method) { .reload }
        case ("plugins", 1): return only(["GET"], method) { .plugins }
        case ("status", 1): return only(["GET"], method) { .status }
        case ("relays", 1): return only(["GET"], method) { .relays(containing: query["containing"]) }
        case ("relays", 2) where ["block", "unblock"].contains(segments[1]):
            return only(["POST"], method) { .decide(segments[1], isOfRelays: true, query) }
        case ("users", 1): return only(["GET"], method) { .users(query) }
        case ("users", 2):
            switch segments[1] {
            case "rules": return only(["GET"], method) { .accessRules }
            case "block", "unblock", "allow", "disallow":
                return only(["POST"], method) { .decide(segments[1], isOfRelays: false, query) }
            case let key: return only(["GET"], method) { .user(key) }
            }
        case ("logs", 1):
            return method == "POST" ? .call(.setLog(query)) : only(["GET"], method, besides: ["POST"]) { .logs }
        case ("queue", 1): return only(["GET"], method) { .queue(query) }
        case ("queue", 2) where segments[1] == "retry": return only(["POST"], method) { .retryQueue(query) }
        case ("queue", 2) where segments[1] == "drop": return only(["POST"], method) { .dropQueue(query) }
        case ("queue", 2): return only(["GET"], method) { .queued(segments[1]) }
        case ("stats", 1): return only(["GET"], method) { .statistics(query) }
        case ("explain", 2):
            return only(["GET"], method) { .explain(event: segments[1], recipient: query["recipient"]) }
        case ("devices", 1):
            let after = query["after"].flatMap { Int64($0) }
            if query["after"] != nil, after == nil { return .unknown("expected a device's number in after=") }
            return only(["GET"], method) { .devices(account: query["account"], after: after) }
        case ("devices", 2...3):
            guard let number = Int64(segments[1]) else { return .unknown("expected a device's number after devices/") }
            switch (segments.count, segments.last) {
            case (2, _):
                return method == "DELETE"
                    ? .call(.removeDevice(number)) : only(["GET"], method, besides: ["DELETE"]) { .device(number) }
            case (3, "test"): return only(["POST"], method) { .testDevice(number, mode: query["mode"]) }
            default: break
            }
        default: break
        }
        return .unknown(
            "expected /api/devices, /api/devices/N, /api/devices/N/test, /api/explain/EVENT, /api/logs, /api/plugins, "
                + "/api/queue, /api/queue/ID, /api/queue/retry, /api/queue/drop, /api/relays, /api/reload, /api/stats, "
                + "/api/status, /api/users or /api/users/KEY"
        )
    }

    private static func only(
        _ methods: [String],
        _ method: String,
        besides others: [String] = [],
        _ call: () -> ConsoleCall
    ) -> ConsoleRoute {
        methods.contains(method)
            ? .call(call()) : .wrongMethod(allow: (methods + others).joined(separator: ", "))
    }

    /// The parameters by name, the last of a name; what is not percent-encoded well is left out.
    private static func query(_ text: Substring) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(sides[0]), let value = decoded(sides.count > 1 ? sides[1] : "") else { continue }
            parameters[name] = value
        }
        return parameters
    }

    private static func decoded(_ text: Substring) -> String? {
        let blanks = text.utf8.lazy.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return PercentEncoding.decode(blanks).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
