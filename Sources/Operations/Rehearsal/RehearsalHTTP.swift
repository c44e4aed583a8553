import Dispatch
import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A lab that takes what a rehearsed plugin sends.
package struct RehearsalLab: Sendable {
    /// `http://localhost:PORT`
    fileprivate let url: String
    fileprivate let lanes: HTTPLanes

    /// Throws what speaks against connections to the lab at `url`.
    package init(url: String) throws {
        self.url = url
        lanes = try HTTPLanes(
            configuration: .init(allowPrivate: ["127.0.0.0/8", "::1/128"]),
            group: .singletonMultiThreadedEventLoopGroup,
            logger: Logger(label: "carillon.rehearsal") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    package func close() async { await lanes.shutdown() }

    /// The request as the lab gets it; what goes to this machine goes where it is to go.
    fileprivate func redirected(_ request: HTTPRequest) -> HTTPRequest {
        guard let parts = URLParts(request.url), !Self.isLocal(parts.origin.host) else { return request }
        var request = request
        request.url = url + parts.target
        request.headers.append("x-forwarded-host", parts.origin.host)
        (request.untrustedURL, request.multiplexed, request.scope) = (false, false, nil)
        return request
    }

    private static func isLocal(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host == "[::1]" || host.hasPrefix("127.")
    }
}

/// What a rehearsed plugin's requests go through: a lab, or answers that are played. It keeps both.
final class RehearsalHTTP: HTTPSender {
    /// A request as the plugin made it.
    struct Exchange: Sendable {
        let request: HTTPRequest
        /// In words.
        var answer = "no answer yet"
    }

    private struct State {
        var exchanges: [Exchange] = []
        /// How often they were taken: answers that come later have nowhere to go.
        var generation = 0
        var played: PlayedAnswer?
    }

    private let lab: RehearsalLab?
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "carillon.rehearsal-http")

    /// `played` is answered until ``play(_:)`` says otherwise; nil: what the lab says, or 200 without one.
    init(lab: RehearsalLab?, played: PlayedAnswer?) {
        self.lab = lab
        state = Mutex(State(played: played))
    }

    func play(_ answer: PlayedAnswer?) { state.withLock { $0.played = answer } }

    /// What went through since the last time, in order.
    func takeExchanges() -> [Exchange] {
        state.withLock { state in
            defer { (state.exchanges, state.generation) = ([], state.generation + 1) }
            return state.exchanges
        }
    }

    func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        let (index, generation, played) = state.withLock { state in
            state.exchanges.append(Exchange(request: request))
            return (state.exchanges.count - 1, state.generation, state.played)
        }
        let end = { @Sendable [self] (result: Result<HTTPResponse, HTTPFailure>, words: String) in
            state.withLock { if $0.generation == generation { $0.exchanges[index].answer = words } }
            completion(result)
        }
        if let lab, played == nil {
            lab.lanes.send(lab.redirected(request)) { end($0, PlayedAnswer.words(for: $0)) }
        } else {
            let answer = played ?? PlayedAnswer(200)
            queue.async { end(answer.result, answer.name) }
        }
    }
}
