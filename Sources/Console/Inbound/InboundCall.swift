import ASCII
import Units

/// A request from outside for an instance of a plugin.
package struct InboundCall: Sendable {
    package var platform: String
    package var app: String
    package var method: String
    /// What follows the instance's path: empty, or from `/` on, as it came.
    package var path: String
    /// What follows `?`, as it came.
    package var query: String
    /// Names in lower case, without `cookie`.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []

    private static let root = "/plugins"

    /// Whether a target lies where plugins are reached, whatever is there.
    static func isMeant(by target: String) -> Bool {
        target == root || ["/", "?"].contains { target.hasPrefix(root + $0) }
    }

    /// Nil for a target that names no instance.
    init?(method: String, target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, whole.hasPrefix(Self.root + "/") else { return nil }
        let names = whole.dropFirst(Self.root.count + 1)
            .split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard names.count >= 2, !names[0].isEmpty, !names[1].isEmpty,
            let app = PercentEncoding.decode(names[1].utf8).flatMap({ String(validating: $0, as: UTF8.self) })
        else { return nil }
        self.method = method
        platform = String(names[0])
        self.app = app
        path = names.count > 2 ? "/" + names[2] : ""
        query = parts.count > 1 ? String(parts[1]) : ""
    }

    /// The URL of an instance, below the public one of the API.
    package static func url(publicURL: String, platform: String, app: String) -> String {
        "\(publicURL)\(root)/\(platform)/\(PercentEncoding.encode(app))"
    }
}

/// Takes requests from outside to plugins. Called from any thread, many at a time.
package typealias InboundReceiver = @Sendable (InboundCall) async -> InboundReply?

/// What a plugin answers to an ``InboundCall``.
package struct InboundReply: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Where plugins are reached from outside, and what one client may do there.
package struct InboundConfiguration: Sendable {
    /// The URL under which clients reach the API, without `/` at its end.
    package var publicURL: String
    /// Whether to trust `X-Forwarded-For` from an address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    package var limits = Limits()

    package init(publicURL: String) {
        self.publicURL = publicURL
    }

    /// What one client may do.
    package struct Limits: Sendable, Equatable {
        /// Connections to the API at the same time, where plugins are reached through it.
        package var connections = 1_000
        /// Requests from one address a second, over time. This machine has no such limit: a proxy may be behind it.
        package var perClientPerSecond = 10
        /// Requests from one address at once, before the rate counts.
        package var clientBurst = 100
        /// Requests for one instance a second, over time.
        package var perInstancePerSecond = 50
        /// Requests for one instance at once, before the rate counts.
        package var instanceBurst = 200
        /// The longest body that a plugin gets; a longer one is answered 413.
        package var bodyBytes: ByteCount = .kibibytes(256)
        /// The longest body that is read at all; a longer one ends the connection.
        package var readBytes: ByteCount = .mebibytes(1)

        package init() {}
    }
}
