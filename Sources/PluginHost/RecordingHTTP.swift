import Dispatch
import HTTPLanes
import Synchronization

/// Sends nothing: keeps every request, and gives prepared answers. A plugin on such a host is a dry run that shows
/// exactly what would have gone out.
package final class RecordingHTTP: HTTPSender {
    package typealias Answer = @Sendable (HTTPRequest) -> Result<HTTPResponse, HTTPFailure>

    private let recorded = Mutex<[HTTPRequest]>([])
    private let answer: Answer
    private let queue = DispatchQueue(label: "carillon.recording-http")

    /// Answers `200` without a body, unless `answer` knows better.
    package init(answer: @escaping Answer = { _ in .success(HTTPResponse(status: 200)) }) {
        self.answer = answer
    }

    /// What was asked for so far, in order.
    package var requests: [HTTPRequest] { recorded.withLock(\.self) }

    /// What was asked for since the last time, in order.
    package func takeRequests() -> [HTTPRequest] {
        recorded.withLock { requests in
            defer { requests = [] }
            return requests
        }
    }

    package func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        recorded.withLock { $0.append(request) }
        queue.async { [answer] in completion(answer(request)) }
    }
}

extension HTTPRequest {
    /// The request as text for a person who asked for it: never for a log, for it holds the token. Credentials are cut
    /// short, because what people see they also paste somewhere.
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

    /// The same without the body.
    package var transcriptHead: String {
        (["\(method) \(readableURL)"] + readableHeaders.map { "\($0.name): \($0.value)" }).joined(separator: "\n")
    }

    /// The URL, with the secret half of what looks like a bot's token (`bot123456:AAE…`) cut off.
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
            // Gotify's, which is nothing but the secret.
            case "x-gotify-key": HTTPField(field.name, field.value.prefix(4) + "…")
            default: field
            }
        }
    }

    /// The scheme and the beginning of a credential; of a JWT its header and claims, but not the signature.
    private static func cutShort(_ credential: String) -> String {
        guard let end = credential.lastIndex(of: ".") else {
            // Base64 of a name and a password, which may be short; or cut short already.
            if credential.lowercased().hasPrefix("basic ") { return "Basic …" }
            return credential.count > 12 ? credential.prefix(12) + "…" : credential
        }
        return credential[...end] + "…"
    }
}
