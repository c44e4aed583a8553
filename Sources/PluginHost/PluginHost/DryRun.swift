import Cipher
import Dispatch
import HTTPClient
import Push
import Synchronization

/// An HTTP sender for dry runs: it sends no request, records each one, and returns prepared responses. The recording
/// shows exactly which requests the plugin would have sent.
package final class RecordingHTTP: HTTPSender {
    package typealias Answer = @Sendable (HTTPRequest) -> Result<HTTPResponse, HTTPError>

    private let recorded = Mutex<[HTTPRequest]>([])
    private let answer: Answer
    private let queue = DispatchQueue(label: "carillon.recording-http")

    /// A sender that responds with `200` and no body by default.
    package init(answer: @escaping Answer = { _ in .success(HTTPResponse(status: 200)) }) {
        self.answer = answer
    }

    /// The requests so far, in order.
    package var requests: [HTTPRequest] { recorded.withLock(\.self) }

    /// Returns the requests since the last call, in order.
    package func takeRequests() -> [HTTPRequest] {
        recorded.withLock { requests in
            defer { requests = [] }
            return requests
        }
    }

    package func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) {
        recorded.withLock { $0.append(request) }
        queue.async { [answer] in completion(answer(request)) }
    }
}

extension HTTPRequest {
    /// The request as text for the person who asked for it. Never log it, because it contains the token. Credentials
    /// are cut short, because people paste output elsewhere.
    ///
    /// A body that is not UTF-8, such as an encrypted one, is shown as its length only.
    package var transcript: String {
        var lines = [transcriptHead]
        if !body.isEmpty {
            lines.append("")
            lines.append(String(validating: body, as: UTF8.self) ?? "(\(body.count) bytes that are not text)")
        }
        return lines.joined(separator: "\n")
    }

    /// The transcript without the body.
    package var transcriptHead: String {
        (["\(method) \(readableURL)"] + readableHeaders.map { "\($0.name): \($0.value)" }).joined(separator: "\n")
    }

    /// The URL, with the secret half of a bot's token (`bot123456:AAE…`) cut off.
    package var readableURL: String {
        let parts = url.split(separator: "/", omittingEmptySubsequences: false).map { part in
            let pieces = part.split(separator: ":", maxSplits: 1)
            guard pieces.count == 2, pieces[0].hasPrefix("bot"), UInt64(pieces[0].dropFirst(3)) != nil else {
                return part
            }
            return pieces[0] + ":…"
        }
        return parts.joined(separator: "/")
    }

    /// The header fields, with credentials cut short.
    package var readableHeaders: [HTTPField] {
        headers.map { field in
            switch field.name {
            case "authorization": HTTPField(field.name, Self.cutShort(field.value))
            // Gotify's field contains only the secret.
            case "x-gotify-key": HTTPField(field.name, field.value.prefix(4) + "…")
            default: field
            }
        }
    }

    /// Returns the scheme and the start of a credential. A JWT keeps its header and claims and loses its signature.
    private static func cutShort(_ credential: String) -> String {
        guard let end = credential.lastIndex(of: ".") else {
            // Base64 of a name and a password may be short, or already cut.
            if credential.lowercased().hasPrefix("basic ") { return "Basic …" }
            return credential.count > 12 ? credential.prefix(12) + "…" : credential
        }
        return credential[...end] + "…"
    }
}

/// A connector whose streams all fail immediately, as if the network were unreachable. For dry runs, and for instances
/// created only to test whether they can be.
package struct NoStreams: StreamConnector {
    private static let queue = DispatchQueue(label: "carillon.no-streams")

    package init() {}

    package func stream(to _: StreamTarget, _ receiver: any StreamReceiver) -> any StreamConnection {
        Stream(receiver)
    }

    private final class Stream: StreamConnection {
        private let receiver: any StreamReceiver

        init(_ receiver: any StreamReceiver) { self.receiver = receiver }

        func start() {
            NoStreams.queue.async { [receiver] in receiver.closed(.unreachable) {} }
        }

        func write(_: [UInt8]) {}
        func startTLS() {}
        func close() {}
        func end(_: StreamError) {}
        func setReading(_: Bool) {}
    }
}

/// Generates throw-away keys for dry runs and checks. Push services do not know them.
package enum SampleKeys {
    package static func make(_ key: PlatformSample.Key) -> String {
        switch key {
        case .p256PEM: P256PrivateKey().pemRepresentation
        case .rsaPEM: RSAPrivateKey().pemRepresentation
        case .p256dh: Base64URL.encode(P256PrivateKey().publicKey.x963Representation)
        case .auth: Base64URL.encode(SecureRandom.bytes(16))
        }
    }
}

extension PlatformSample {
    /// Returns the registration fields, with new throw-away keys where the plugin asks for them.
    package func makeFields() -> [String: String] {
        let fields = fields.map { field in
            switch field.value {
            case .text(let text): (field.name, text)
            case .generated(let key): (field.name, SampleKeys.make(key))
            }
        }
        return Dictionary(fields) { first, _ in first }
    }
}
