import Cipher
import NIOConcurrencyHelpers

/// What the services of a lab share: what was declared, the script, the record.
final class LabCore: Sendable {
    struct State: Sendable {
        var script: Script
        var devices: APNsDevices
        /// By topic.
        var receivers: [String: WebPushDecryption] = [:]
        var subscriptions = WebPushSubscriptions()
        var fcm = FCMState()
    }

    private let state: NIOLockedValueBox<State>
    private let mischief: LabConfiguration.Mischief?
    let recorder: Recorder
    let providerKeys: [ProviderKey]
    let now: @Sendable () -> Int64
    let random: RandomBytes = SecureRandom.bytes

    init(_ configuration: LabConfiguration) throws {
        let apns = configuration.apns
        state = NIOLockedValueBox(
            State(
                script: Script(configuration.misbehaviours),
                devices: APNsDevices(apns.devices, acceptsUndeclared: apns.acceptsUndeclaredDevices)
            )
        )
        recorder = Recorder(maximumCount: configuration.keptRequests, maximumBytes: configuration.keptBytes)
        providerKeys = try apns.credentials.map { try $0.providerKey(topics: apns.topics) }
        now = configuration.now
        mischief = configuration.mischief
        if let fcm = configuration.fcm {
            let known = try FCMState(fcm)
            withState { $0.fcm = known }
        }
        for receiver in configuration.unifiedPush?.receivers ?? [] {
            try declare(receiver)
        }
        for subscription in configuration.webPush?.subscriptions ?? [] {
            try withState { try $0.subscriptions.add(subscription) }
        }
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
        let decryption = try WebPushDecryption(receiver)
        withState { $0.receivers[receiver.topic] = decryption }
    }
}
