import Testing

@testable import Console

@Suite struct RouteTableTests {
    private static func endpoint(_ method: APIEndpoint.Method, _ path: String) -> APIEndpoint {
        APIEndpoint(method, path, for: .everybody) { _ in ConsoleAnswer(body: "") }
    }

    private let table = RouteTable([
        endpoint(.get, "/healthz"), endpoint(.get, "/v1/queue"),
        endpoint(.post, "/v1/queue/drop"), endpoint(.get, "/v1/queue/{id}"),
        endpoint(.get, "/v1/devices/{device}"),
        endpoint(.delete, "/v1/devices/{device}"), endpoint(.post, "/v1/me/{device}/test/{mode}"),
    ])

    @Test(arguments: [
        ("GET", "/healthz", "/healthz", [:]), ("HEAD", "/healthz", "/healthz", [:]),
        ("GET", "/v1/queue", "/v1/queue", [:]), ("GET", "/v1/queue/a-b", "/v1/queue/{id}", ["id": "a-b"]),
        ("POST", "/v1/queue/drop", "/v1/queue/drop", [:]), ("POST", "/v1/%71ueue/drop", "/v1/queue/drop", [:]),
        ("GET", "/v1/devices/7", "/v1/devices/{device}", ["device": "7"]),
        ("DELETE", "/v1/devices/a%2Fb%C3%A4", "/v1/devices/{device}", ["device": "a/bä"]),
        ("POST", "/v1/me/7/test/wake", "/v1/me/{device}/test/{mode}", ["device": "7", "mode": "wake"]),
    ])
    func routeAndItsPathParametersAreFound(
        _ method: String,
        _ path: String,
        _ template: String,
        _ values: [String: String]
    ) throws {
        guard case .endpoint(let endpoint, let found) = table.match(method, path[...]) else {
            Issue.record("nothing at \(path)")
            return
        }
        #expect(endpoint.path == template && found == values)
    }

    @Test(arguments: [
        ("POST", "/healthz", ["GET", "HEAD"]), ("PUT", "/v1/devices/7", ["GET", "HEAD", "DELETE"]),
        // A literal path segment takes precedence over a parameter.
        ("GET", "/v1/queue/drop", ["POST"]), ("PATCH", "/v1/queue/a", ["GET", "HEAD"]),
    ])
    func allowedMethodsAreNamed(_ method: String, _ path: String, _ methods: [String]) {
        guard case .wrongMethod(let allow) = table.match(method, path[...]) else {
            Issue.record("\(method) \(path) is something else")
            return
        }
        #expect(allow == methods)
    }

    @Test(arguments: [
        "", "/", "*", "healthz", "/health", "/healthz/x", "/healthz/", "//healthz", "/v1", "/v1/", "/v1/queue/",
        "/v1/devices//", "/v1/devices/%zz", "/v1/devices/%ff", "/v1/devices/7/x", "/v1/me/7/test", "/V1/queue",
    ])
    func unknownPathHasNoRoute(_ path: String) {
        guard case .nothing = table.match("GET", path[...]) else {
            Issue.record("\(path) is something")
            return
        }
    }

    @Test func readsAQuery() {
        let query = QueryString("a=1&b=x+y%C3%A4&c&d=%zz&=e")
        #expect(query.parameters == ["a": "1", "b": "x yä", "c": "", "": "e"] && query.isUnclear)
        #expect(QueryString("a=1&a=2").parameters == ["a": "2"])
        #expect(QueryString("a=1&a=2").isUnclear && !QueryString("a=1&b=2").isUnclear && !QueryString("").isUnclear)
    }

    @Test(arguments: [
        (APIParameter.Form.text(3), "abc", true), (.text(3), "abcd", false), (.text(3), "", false),
        (.text(3), "äöü", true), (.plain(5), "a-B,0", true), (.plain(5), "a b", false),
        (.integer(1...9), "9", true), (.integer(1...9), "10", false), (.integer(1...9), "+1", false),
        (.integer(1...9), "01", false), (.integer(-9...9), "-9", true),
        (.integer(1...9), "99999999999999999999", false),
        (.choice(["a"]), "a", true), (.choice(["a"]), "A", false), (.flag, "true", true), (.flag, "0", true),
        (.flag, "yes", false),
    ])
    func parameterValuesAreValidated(_ form: APIParameter.Form, _ text: String, _ isGood: Bool) {
        #expect((APIParameter.query("p", form, "a thing").expectation(insteadOf: text) == nil) == isGood)
    }
}
