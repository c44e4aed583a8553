import Cipher
import Synchronization

/// The state that the services of a lab share: declarations, the script, the record.
final class LabCore: Sendable {
    struct Receiver: Sendable {
        var decryption: WebPushDecryption
        /// The key of the only accepted sender, in base64url; nil: any sender.
        var applicationServerKey: String?

        init(_ receiver: WebPushReceiver) throws {
            decryption = try WebPushDecryption(receiver)
            applicationServerKey = receiver.applicationServerKey
        }
    }

    struct State: Sendable {
        var script: Script
        var apns: APNsState
        /// Separate from `apns`: responders hold copies of that, so that counting in it would copy everything.
        var apnsIDs = APNsIDs()
        /// By topic.
        var receivers: [String: Receiver] = [:]
        /// The declared topics of UnifiedPush and ntfy, by name.
        var topics: [LabService: [String: NtfyTopic]] = [:]
        var gotify: GotifyState
        var subscriptions = WebPushSubscriptions()
        var fcm = FCMState()

        /// The state that a configuration declares. Throws `LabError` for an invalid key.
        init(_ configuration: LabConfiguration) throws {
            script = Script(configuration.misbehaviours)
            apns = try APNsState(configuration.apns)
            fcm = try configuration.fcm.map(FCMState.init) ?? FCMState()
            gotify = GotifyState(configuration.gotify?.applications ?? [])
            for receiver in configuration.unifiedPush?.receivers ?? [] {
                receivers[receiver.topic] = try Receiver(receiver)
            }
            for topic in configuration.ntfy?.topics ?? [] {
                topics[.ntfy, default: [:]][topic.name] = topic
            }
            for subscription in configuration.webPush?.subscriptions ?? [] {
                try subscriptions.add(subscription)
            }
        }
    }

    private let state: Mutex<State>
    private let initial: State
    private let randomMisbehaviour: LabConfiguration.RandomMisbehaviour?
    let recorder: Recorder
    let now: @Sendable () -> Int64
    let random: RandomBytes = SecureRandom.bytes

    init(_ configuration: LabConfiguration) throws {
        initial = try State(configuration)
        state = Mutex(initial)
        recorder = Recorder(maximumCount: configuration.keptRequests, maximumBytes: configuration.keptBytes)
        now = configuration.now
        randomMisbehaviour = configuration.randomMisbehaviour
    }

    func withState<Result: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }

    /// The misbehaviour for the next request that has passed every check; nil for the regular response.
    func misbehaviour(towards target: String, of service: LabService) -> ScriptedBehavior.Action? {
        withState { $0.script.next(service, target) } ?? randomMisbehaviour?(service, target)
    }

    /// Decides about a request and records it. `earn` checks the request and makes its reply; it may name another
    /// target. `refuse` and `ordered` format a refusal, and the response that a misbehaviour orders, for the service.
    func decide<Refusal: Error>(
        _ request: LabRequest,
        of service: LabService,
        target: String,
        earn: (inout String) throws(Refusal) -> LabReply,
        refuse: (Refusal) -> LabReply,
        ordered: (OrderedAnswer) -> LabReply
    ) -> LabDecision {
        var target = target
        do throws(Refusal) {
            let reply = try earn(&target)
            return settle(
                request,
                of: service,
                target,
                reply,
                misbehaviour(towards: target, of: service),
                ordered: ordered
            )
        } catch {
            return settle(request, of: service, target, refuse(error), nil, ordered: ordered)
        }
    }

    /// Applies a misbehaviour to a reply, and records the request.
    func settle(
        _ request: LabRequest,
        of service: LabService,
        _ target: String,
        _ earned: LabReply,
        _ misbehaviour: ScriptedBehavior.Action?,
        ordered: (OrderedAnswer) -> LabReply
    ) -> LabDecision {
        var reply = earned
        switch misbehaviour {
        case .answer(let order):
            // APNs gives its reasons with any status.
            if order.status >= 300 || service.isAPNs && order.reason != nil {
                let refusal = ordered(order)
                (reply.answer, reply.reason) = (refusal.answer, refusal.reason)
            }
            reply.answer.apply(order)
        case .html(let status): (reply.answer, reply.reason) = (HTTPAnswer(htmlWithStatus: status), nil)
        default: break
        }
        var received = ReceivedRequest(request, to: service, target: target, at: now(), reply, misbehaviour)
        if service.isAPNs, let id = request.header("apns-id") {
            received.repeats = withState { $0.apnsIDs.count(id) }
        }
        recorder.add(received)
        return LabDecision(answer: reply.answer, misbehaviour: misbehaviour, status: received.status)
    }

    func declare(_ receiver: WebPushReceiver) throws {
        let known = try Receiver(receiver)
        withState { $0.receivers[receiver.topic] = known }
    }

    /// Restores the configuration's declarations and removes requests and misbehaviours. Access tokens stay valid.
    func reset() {
        withState { state in
            let fcm = state.fcm
            state = initial
            state.script.removeAll()
            state.fcm.tokenURL = fcm.tokenURL
            state.fcm.accessTokens = fcm.accessTokens
        }
        recorder.removeAll()
    }
}

/// A service's reply to a request, with remarks for the record.
struct LabReply {
    var answer: HTTPAnswer
    /// The reason of a refusal in the service's own format.
    var reason: String?
    /// The exact error in a readable sentence. Real services do not return it.
    var detail: String?
    /// The plaintext of a message to a receiver whose keys the lab has.
    var decrypted: [UInt8]?
    /// The message that subscribers see.
    var message: JSONValue?
}

/// The handling of a request.
struct LabDecision {
    /// The regular response, or the one that a misbehaviour orders.
    var answer: HTTPAnswer
    /// The misbehaviour.
    var misbehaviour: ScriptedBehavior.Action?
    /// The recorded status; nil for a request without a response.
    var status: Int?
    /// HTTP/2: a new SETTINGS_MAX_CONCURRENT_STREAMS, sent before the response; nil for no change.
    var streamLimit: Int?
}

/// Why an operation of the lab failed.
public struct LabError: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code: Sendable, Hashable {
        case timedOut
        case closed
        case invalid
        case system
    }

    private let code: Code
    /// A readable message. Programs use ``isTimeout`` and ``isClosed``.
    public let description: String

    /// Too few requests arrived before the timeout.
    public var isTimeout: Bool { code == .timedOut }

    /// The lab was shut down while the caller waited.
    public var isClosed: Bool { code == .closed }

    static func timedOut(_ description: String) -> LabError { LabError(code: .timedOut, description: description) }

    static let closed = LabError(code: .closed, description: "The lab was shut down.")

    /// An argument is invalid. The description names the expected value.
    static func invalid(_ description: String) -> LabError { LabError(code: .invalid, description: description) }

    /// A file, a socket or a system library failed.
    static func system(_ description: String) -> LabError { LabError(code: .system, description: description) }

    /// Describes a decoding error in a sentence that names the key.
    static func explain(_ error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            let path = (context.codingPath + (key.map { [$0] } ?? [])).map(\.stringValue).joined(separator: ".")
            return path.isEmpty ? "the value" : "\"\(path)\""
        }
        return switch error {
        case .keyNotFound(let key, let context): "\(place(context, key)) is missing"
        case .typeMismatch(let type, let context): "\(place(context)) is not a \(type)"
        case .valueNotFound(let type, let context): "\(place(context)) is null, expected \(type)"
        case .dataCorrupted(let context): "\(place(context)): \(context.debugDescription)"
        @unknown default: "not readable"
        }
    }
}

extension KeyedDecodingContainer {
    /// An error that names the expected value.
    func invalid(_ key: Key, _ expected: String) -> DecodingError {
        .dataCorruptedError(forKey: key, in: self, debugDescription: expected)
    }
}
