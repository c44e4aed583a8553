import Cipher
import NIOConcurrencyHelpers

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
        var hms: HMSState

        /// The state that a configuration declares. Throws `LabError` for an invalid key.
        init(_ configuration: LabConfiguration) throws {
            script = Script(configuration.misbehaviours)
            apns = try APNsState(configuration.apns)
            fcm = try configuration.fcm.map(FCMState.init) ?? FCMState()
            hms = HMSState(configuration.hms)
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

    /// Restores the configuration's declarations and removes requests and misbehaviours. Access tokens stay valid.
    func reset() {
        withState { state in
            let (fcm, hms) = (state.fcm, state.hms)
            state = initial
            state.script.removeAll()
            state.fcm.tokenURL = fcm.tokenURL
            state.fcm.accessTokens = fcm.accessTokens
            state.hms.accessTokens = hms.accessTokens
        }
        recorder.removeAll()
    }
}
