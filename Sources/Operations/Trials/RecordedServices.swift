import Core
import Dispatch
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import PluginHost
import Push
import Synchronization

/// Runs plugins as in a router and records their requests. A simulated push service or a lab responds.
///
/// For one delivery at a time.
package final class RecordedServices: TrialServices {
    private struct Stage {
        let transport: TransportInstance
        let http: TrialHTTP
        let streams: RecordingStreams
    }

    /// The timeout of a delivery. Push services respond immediately here.
    static let timeout: Duration = .seconds(10)

    private let host: PluginHost
    private let blocks: [String: String]
    private let platforms: PlatformCatalog
    private let log: Logger
    private let stopsAtTimeout: Bool
    private let stages = Mutex<[String: Stage]>([:])
    private let answers: Mutex<TrialHTTP.Answers>

    /// `blocks` are platform blocks by platform. Default: the sample of `platforms`, with throw-away keys. Each request
    /// gets 200.
    package convenience init(host: PluginHost, blocks: [String: String] = [:], platforms: PlatformCatalog) {
        self.init(
            host: host,
            blocks: blocks,
            platforms: platforms,
            log: Logger(label: "carillon.dry-run") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    init(
        host: PluginHost,
        blocks: [String: String],
        platforms: PlatformCatalog,
        answers: TrialHTTP.Answers = .usual,
        log: Logger,
        stopsAtTimeout: Bool = false
    ) {
        self.host = host
        self.blocks = blocks
        self.platforms = platforms
        self.log = log
        self.stopsAtTimeout = stopsAtTimeout
        self.answers = Mutex(answers)
    }

    package func seals(_ platform: String) -> Bool { host.encryptingPlatforms.contains(platform) }

    package func send(
        _ notification: Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async throws -> TrialReply {
        let stage = try stage(for: address)
        try stage.transport.validate(address)
        let start = stage.transport.now()
        var reply = TrialReply(await stage.transport.outcome(of: notification, id: id, to: address))
        if stopsAtTimeout, stage.transport.now() - start >= Self.timeout { throw UnansweredDelivery() }
        reply.exchanges = stage.http.takeExchanges()
        reply.stream = stage.streams.takeTarget()
        return reply
    }

    /// Throws the plugin's error about its block or the address.
    func check(_ address: DeviceAddress) throws {
        try stage(for: address).transport.validate(address)
    }

    /// Sets the response to every later request.
    func play(_ answer: PlayedAnswer) {
        answers.withLock { $0 = .played(answer) }
        stages.withLock { for stage in $0.values { stage.http.play(answer) } }
    }

    private func stage(for address: DeviceAddress) throws -> Stage {
        try stages.withLock { stages in
            if let stage = stages[address.platform] { return stage }
            let http = TrialHTTP(answers.withLock { $0 })
            let streams = RecordingStreams()
            let transport = try host.makeTransport(
                platform: address.platform,
                app: address.app,
                configuration: blocks[address.platform] ?? sample(of: address.platform),
                settings: InstanceSettings(sender: http, streams: streams, log: log, deliveryTimeout: Self.timeout)
            )
            let stage = Stage(transport: transport, http: http, streams: streams)
            stages[address.platform] = stage
            return stage
        }
    }

    /// Returns a block with throw-away keys, which no push service accepts.
    private func sample(of platform: String) -> String {
        platforms[platform]?.sample.configuration(generate: SampleKeys.make) ?? "{}"
    }
}

/// A delivery that the plugin does not complete. Later deliveries would take as long.
private struct UnansweredDelivery: Error, CustomStringConvertible {
    let description = """
        the plugin did not end a delivery within \(RecordedServices.timeout.seconds) s, and the others are not tried. \
        'deliver' must return without waiting for the push service, and each delivery needs one outcome
        """
}

/// Streams that end immediately after they start. Records their destinations.
private final class RecordingStreams: StreamConnector {
    private let target = Mutex<String?>(nil)

    func stream(to target: StreamTarget, _ receiver: any StreamReceiver) -> any StreamConnection {
        self.target.withLock { $0 = "\(target.host):\(target.port)" }
        return NoStreams().stream(to: target, receiver)
    }

    func takeTarget() -> String? {
        target.withLock { target in
            defer { target = nil }
            return target
        }
    }
}

/// A lab that responds to the requests of a plugin on trial.
package struct TrialLab: Sendable {
    /// `http://localhost:PORT`
    private let url: String
    fileprivate let lanes: HTTPLanes

    /// Throws if a connection to the lab at `url` is not allowed.
    package init(url: String) throws {
        self.url = url
        lanes = try HTTPLanes(
            configuration: .init(allowPrivate: ["127.0.0.0/8", "::1/128"]),
            group: .singletonMultiThreadedEventLoopGroup,
            logger: Logger(label: "carillon.trial") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    package func close() async { await lanes.shutdown() }

    /// Returns the request to the lab. A request to this machine keeps its URL.
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

/// Sends the requests of a plugin on trial to a lab, or simulates responses, and records both.
final class TrialHTTP: HTTPSender {
    /// A request as the plugin made it.
    struct Exchange: Sendable {
        let request: HTTPRequest
        /// For display.
        var answer = "no answer yet"
    }

    /// The source of responses.
    enum Answers: Sendable {
        case lab(TrialLab)
        case played(PlayedAnswer)
        /// Simulated: 200, or a token for token requests.
        case usual
    }

    private struct State {
        var exchanges: [Exchange] = []
        /// Increases with each take. Responses of an earlier generation are dropped.
        var generation = 0
        var answers: Answers
    }

    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "carillon.trial-http")

    init(_ answers: Answers) {
        state = Mutex(State(answers: answers))
    }

    /// Sets the response to every later request.
    func play(_ answer: PlayedAnswer) { state.withLock { $0.answers = .played(answer) } }

    /// Returns the exchanges since the last call, in order.
    func takeExchanges() -> [Exchange] {
        state.withLock { state in
            defer { (state.exchanges, state.generation) = ([], state.generation + 1) }
            return state.exchanges
        }
    }

    func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) {
        let (index, generation, answers) = state.withLock { state in
            state.exchanges.append(Exchange(request: request))
            return (state.exchanges.count - 1, state.generation, state.answers)
        }
        let end = { @Sendable [self] (result: Result<HTTPResponse, HTTPError>, words: String) in
            state.withLock { if $0.generation == generation { $0.exchanges[index].answer = words } }
            completion(result)
        }
        let answer: PlayedAnswer
        switch answers {
        case .lab(let lab):
            lab.lanes.send(lab.redirected(request)) { end($0, PlayedAnswer.words(for: $0)) }
            return
        case .played(let played): answer = played
        case .usual: answer = request.isTokenRequest ? .token : PlayedAnswer(200)
        }
        queue.async { end(answer.result, answer.name) }
    }
}

extension HTTPRequest {
    /// Whether this is an OAuth 2.0 token request (RFC 6749 section 4), which precedes the push.
    var isTokenRequest: Bool {
        String(decoding: body.prefix(256), as: UTF8.self).contains("grant_type=")
    }
}

/// The response of a simulated push service.
struct PlayedAnswer: Sendable {
    let name: String
    let result: Result<HTTPResponse, HTTPError>

    init(_ status: Int, retryAfter: Int? = nil) {
        var headers = HTTPFields()
        if let retryAfter { headers.append("retry-after", "\(retryAfter)") }
        self.init(.success(HTTPResponse(status: status, headers: headers)))
    }

    private init(_ reason: HTTPError.Reason) {
        self.init(.failure(HTTPError(reason, mayHaveBeenProcessed: true)))
    }

    private init(_ result: Result<HTTPResponse, HTTPError>) {
        name = Self.words(for: result)
        self.result = result
    }

    /// The response of a push service, for display.
    static func words(for result: Result<HTTPResponse, HTTPError>) -> String {
        switch result {
        case .failure(let failure): "no answer (\(failure.reason.rawValue))"
        case .success(let response):
            "\(response.status)"
                + (response.headers.first { $0.name == "retry-after" }.map { ", Retry-After: \($0.value)" } ?? "")
        }
    }

    /// The response to a token request.
    static let token = PlayedAnswer(
        .success(
            HTTPResponse(
                status: 200,
                body: Array(#"{"access_token":"dry-run","expires_in":3600,"token_type":"Bearer"}"#.utf8)
            )
        )
    )

    /// The usual responses of push services.
    static let all = [
        PlayedAnswer(200), PlayedAnswer(400), PlayedAnswer(401), PlayedAnswer(403), PlayedAnswer(404),
        PlayedAnswer(410), PlayedAnswer(413), PlayedAnswer(429, retryAfter: 30), PlayedAnswer(500), PlayedAnswer(503),
        PlayedAnswer(.timeout), PlayedAnswer(.tlsUntrusted),
    ]
}
