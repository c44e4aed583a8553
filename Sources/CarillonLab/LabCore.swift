import Cipher
import NIOConcurrencyHelpers

/// What the services of a lab share: what was declared, the script, the record.
final class LabCore: Sendable {
    struct Receiver: Sendable {
        var decryption: WebPushDecryption
        /// The only one whose messages it takes, in base64url; nil: anybody's.
        var applicationServerKey: String?

        init(_ receiver: WebPushReceiver) throws {
            decryption = try WebPushDecryption(receiver)
            applicationServerKey = receiver.applicationServerKey
        }
    }

    struct State: Sendable {
        var script: Script
        var apns: APNsState
        /// Apart from what requests are judged by: while somebody holds a copy, counting would copy them all.
        var apnsIDs = APNsIDs()
        /// By topic.
        var receivers: [String: Receiver] = [:]
        /// Declared ones of UnifiedPush and ntfy, by name.
        var topics: [LabService: [String: NtfyTopic]] = [:]
        var gotify: GotifyState
        var subscriptions = WebPushSubscriptions()
        var fcm = FCMState()

        /// What a configuration declares. Throws `LabError` where a key is none.
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

    private let state: NIOLockedValueBox<State>
    private let initial: State
    private let mischief: LabConfiguration.Mischief?
    let recorder: Recorder
    let now: @Sendable () -> Int64
    let random: RandomBytes = SecureRandom.bytes

    init(_ configuration: LabConfiguration) throws {
        initial = try State(configuration)
        state = NIOLockedValueBox(initial)
        recorder = Recorder(maximumCount: configuration.keptRequests, maximumBytes: configuration.keptBytes)
        now = configuration.now
        mischief = configuration.mischief
    }

    func withState<Result, Failure: Error>(_ body: (inout State) throws(Failure) -> Result) throws(Failure) -> Result {
        let result = state.withLockedValue { state in
            Swift.Result { () throws(Failure) in try body(&state) }
        }
        return try result.get()
    }

    /// What happens to the next request that has passed every check; nil for the answer it has earned.
    func conduct(towards target: String, of service: LabService) -> Misbehaviour.Conduct? {
        withState { $0.script.next(service, target) } ?? mischief?(service, target)
    }

    func declare(_ receiver: WebPushReceiver) throws {
        let known = try Receiver(receiver)
        withState { $0.receivers[receiver.topic] = known }
    }

    /// Back to what the configuration declared, without requests and misbehaviours. Access tokens stay good.
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
