import Testing

@testable import Console

@Suite struct ConsoleRouteTests {
    @Test(arguments: [
        ("GET", "/healthz", ConsoleCall.health),
        ("HEAD", "/readyz?verbose", .readiness(withDetails: false)),
        ("GET", "/metrics", .metrics),
        ("GET", "/api/explain/note1abc", .explain(event: "note1abc", recipient: nil)),
        ("GET", "/api/explain/ab12?recipient=npub1%78", .explain(event: "ab12", recipient: "npub1x")),
        ("GET", "/api/devices", .devices(account: nil, after: nil)),
        ("GET", "/api/devices?account=ab&x=%zz", .devices(account: "ab", after: nil)),
        ("GET", "/api/devices?after=1000", .devices(account: nil, after: 1_000)),
        ("GET", "/api/devices/7", .device(7)),
        ("GET", "/api/devices/-7", .device(-7)),
        ("DELETE", "/api/devices/7", .removeDevice(7)),
        ("POST", "/api/devices/7/test?mode=alert", .testDevice(7, mode: "alert")),
        ("POST", "/api/reload", .reload), ("GET", "/api/plugins", .plugins),
        ("GET", "/api/relays", .relays(containing: nil)),
        ("GET", "/api/relays?containing=a%2Fb", .relays(containing: "a/b")),
        ("POST", "/api/relays/block?subject=x", .decide("block", isOfRelays: true, ["subject": "x"])),
        ("GET", "/api/users?limit=5", .users(["limit": "5"])), ("GET", "/api/users/npub1x", .user("npub1x")),
        ("GET", "/api/users/rules", .accessRules),
        ("POST", "/api/users/allow?subject=x", .decide("allow", isOfRelays: false, ["subject": "x"])),
        ("GET", "/api/logs", .logs), ("POST", "/api/logs?level=debug", .setLog(["level": "debug"])),
    ])
    func findsWhatIsAskedFor(_ method: String, _ target: String, _ call: ConsoleCall) {
        #expect(ConsoleRoute(method: method, target: target) == .call(call))
    }

    @Test(arguments: [
        ("POST", "/healthz", "GET, HEAD"), ("GET", "/api/reload", "POST"), ("PUT", "/api/devices/7", "GET, DELETE"),
        ("GET", "/api/devices/7/test", "POST"), ("GET", "/api/users/block", "POST"), ("PUT", "/api/logs", "GET, POST"),
    ])
    func namesTheMethodsThereAre(_ method: String, _ target: String, _ allow: String) {
        #expect(ConsoleRoute(method: method, target: target) == .wrongMethod(allow: allow))
    }

    @Test(arguments: [
        "", "/", "*", "/health", "/healthz/x", "/api", "/api/", "/api/x", "/api/devices/x", "/api/devices?after=x",
        "/api/devices/7/x",
        "/api/devices/99999999999999999999", "/api/explain", "/api/explain/a/b",
    ])
    func refusesWhatIsNone(_ target: String) {
        guard case .unknown(let expected) = ConsoleRoute(method: "GET", target: target) else {
            return #expect(Bool(false), "\(target) is something")
        }
        #expect(expected.hasPrefix("expected "))
    }
}
