import HTTPLanes
import Notifications

/// The lanes as plugins get them in a run: every request for a device gets a number of its own in a header and a short
/// deadline, and the journal learns of it.
struct NumberedSender: HTTPSender {
    static let header = "x-chaos-sending"
    private static let token = Array(#""token":""#.utf8)

    let lanes: HTTPLanes
    let journal: JournalKeeper
    /// By the lab's name for it.
    let devices: [String: DeviceID]
    /// In milliseconds.
    let timeout: UInt32

    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void) {
        var request = request
        request.timeout = min(request.timeout, timeout)
        guard let device = target(of: request).flatMap({ devices[$0] }), let number = journal.sendingBegan(to: device)
        else { return lanes.send(request, completion: completion) }
        request.headers.append(HTTPField(Self.header, String(number)))
        lanes.send(request) { [journal] result in
            switch result {
            case .success(let response): journal.sendingEnded(number, .answered(status: response.status))
            case .failure(let failure):
                journal.sendingEnded(
                    number,
                    .failed(
                        reason: failure.reason.rawValue,
                        mayHaveBeenProcessed: failure.mayHaveBeenProcessed
                    )
                )
            }
            completion(result)
        }
    }

    func retire(_ scope: ConnectionScope) { lanes.retire(scope) }

    /// What the lab will call the device: the end of the path, or FCM's token in the body.
    private func target(of request: HTTPRequest) -> String? {
        if request.url.hasSuffix("/messages:send") {
            guard let start = request.body.firstRange(of: Self.token)?.upperBound else { return nil }
            return String(decoding: request.body[start...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        }
        return URLParts(request.url)?.target.split(separator: "?").first?.split(separator: "/").last.map(String.init)
    }
}
