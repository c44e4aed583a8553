import CBrowserPages
import Core
import Foundation

/// The page `/subscribe/`, where people without an app turn on notifications for their Nostr key.
package struct SubscribePage: Sendable, Equatable {
    /// The last part of its path.
    package static let folder = "subscribe"

    /// The configured app that people register for.
    package var app: String
    /// The default ntfy server for topics.
    package var topicServer = "https://ntfy.sh"
    /// The tap target, such as `https://app.example.com/{nevent}`; nil: the notification's own.
    package var client: String?

    package init(app: String) {
        self.app = app
    }

    /// The page's files. `socketURL` is the configured URL of the relay socket for browsers.
    package func site(socketURL: String) throws -> StaticSite {
        var files = StaticSite.File.embedded(subscribe_page_file) { Self.policy(for: $0, socketURL) }
        let settings = try Self.json(["app": app, "topic_server": topicServer, "client": client ?? ""])
        files.append(StaticSite.File(name: "settings.json", bytes: settings, policy: StaticSite.File.inert))
        return StaticSite(folder: Self.folder, files: files)
    }

    /// No external sources, no inline code, and no text as script. Browsers apply the service worker's own policy to
    /// it.
    private static func policy(for name: String, _ socketURL: String) -> String {
        // Some browsers do not treat a WebSocket to the page's own address as 'self'. A remote signer (NIP-46) may use
        // any relay.
        let sockets = (sourceExpression(socketURL).map { " " + $0 } ?? "") + " wss:"
        switch name {
        case "index.html":
            return StaticSite.File.inert + "; script-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'"
                + "; worker-src 'self'; connect-src 'self'\(sockets)"
                + "; require-trusted-types-for 'script'; trusted-types worker"
        case "worker.js": return StaticSite.File.inert + "; script-src 'self'; connect-src 'self'\(sockets)"
        default: return StaticSite.File.inert
        }
    }

    /// Scheme, host and port of a URL, unless they hold characters with a meaning in a policy.
    private static func sourceExpression(_ url: String) -> String? {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, ["ws", "wss"].contains(scheme),
            let host = parts.host, !host.isEmpty,
            host.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0.isOne(of: ".-[]:") })
        else { return nil }
        return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
    }

    private static func json(_ members: [String: String]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(members))
    }
}

/// The pages at the API's port: `/me/` for users, `/console/` for operators. They hold only public content, the same in
/// every installation; their data comes from the API.
package enum APIPages {
    package static var all: [StaticSite] {
        [
            StaticSite(
                folder: "me",
                isAtRoot: true,
                // A remote signer (NIP-46) may use any relay.
                files: StaticSite.File.embedded(me_page_file) { policy(for: $0, connections: "'self' wss:") }
            ),
            StaticSite(
                folder: "console",
                isAtRoot: true,
                files: StaticSite.File.embedded(console_page_file) { policy(for: $0, connections: "'self'") }
            ),
        ]
    }

    /// No external sources, no inline code, and no text as script.
    private static func policy(for name: String, connections: String) -> String {
        guard name == "index.html" else { return StaticSite.File.inert }
        return StaticSite.File.inert
            + "; script-src 'self'; style-src 'self'; img-src 'self'; connect-src \(connections)"
            + "; require-trusted-types-for 'script'; trusted-types"
    }
}

extension StaticSite.File {
    /// The files of an embedded table, each with its policy.
    static func embedded(
        _ table: (Int) -> UnsafePointer<browser_page_file>?,
        policy: (String) -> String
    ) -> [StaticSite.File] {
        var files: [StaticSite.File] = []
        while let file = table(files.count)?.pointee {
            let name = String(cString: file.name)
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
            files.append(StaticSite.File(name: name, bytes: bytes, policy: policy(name)))
        }
        return files
    }
}
