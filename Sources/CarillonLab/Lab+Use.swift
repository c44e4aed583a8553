import NIOCore

extension Lab {
    /// Every request kept, in order.
    public var received: [ReceivedRequest] { core.recorder.requests }

    /// The oldest request that this function has not returned yet; waits for one where there is none.
    ///
    /// Throws `LabError` when the time is over (nil for no limit) or the lab is shut down.
    public func next(timeout: Duration? = .seconds(10)) async throws -> ReceivedRequest {
        let wait = core.recorder.awaitUnread(timeout: timeout.map { TimeAmount($0) }, on: group.any())
        guard let request = try await core.recorder.requests(of: wait).first else { throw LabError.closed }
        return request
    }

    /// Waits until so many of the requests kept match, and returns all that do.
    ///
    /// Throws `LabError` when the time is over or the lab is shut down.
    @discardableResult
    public func waitFor(
        count: Int,
        timeout: Duration = .seconds(10),
        where matching: @escaping @Sendable (ReceivedRequest) -> Bool = { _ in true }
    ) async throws -> [ReceivedRequest] {
        let wait = core.recorder.awaitCount(count, timeout: TimeAmount(timeout), on: group.any(), matching: matching)
        return try await core.recorder.requests(of: wait)
    }

    /// Forgets every request received.
    public func forgetReceived() {
        core.recorder.removeAll()
    }

    /// Adds to the script; what was ordered earlier comes first.
    public func misbehave(_ misbehaviours: Misbehaviour...) {
        misbehave(misbehaviours)
    }

    /// Adds to the script; what was ordered earlier comes first.
    public func misbehave(_ misbehaviours: [Misbehaviour]) {
        core.withState { $0.script.add(contentsOf: misbehaviours) }
    }

    /// Withdraws every misbehaviour.
    public func behave() {
        core.withState { $0.script.removeAll() }
    }

    /// The misbehaviours still to come, with what is left of their turns.
    public var script: [Misbehaviour] { core.withState { $0.script.pending } }

    /// Forgets every request received, withdraws every misbehaviour and forgets what was declared since the start.
    public func reset() {
        core.reset()
    }

    /// Says what becomes of a device token; replaces what was said of it before.
    public func declare(_ device: APNsDevice) {
        core.withState { $0.apns.devices.declare(contentsOf: [device]) }
    }

    /// Lets a key send, or changes what one may send for. Connections that have sent with it keep to what it was for then.
    ///
    /// Throws `LabError` where the public key is none.
    public func declare(_ credentials: LabCredentials, topics: Set<String> = []) throws {
        let key = try credentials.providerKey(topics: topics)
        core.withState { state in
            state.apns.keys.removeAll { $0.keyID == key.keyID }
            state.apns.keys.append(key)
        }
    }

    /// Gives the lab a receiver's keys, so that it can read what is sent to its topic.
    ///
    /// Throws `LabError` where they are no keys.
    public func declare(_ receiver: WebPushReceiver) throws {
        try core.declare(receiver)
    }

    /// Says what becomes of a topic of ``LabService/unifiedPush`` or ``LabService/ntfy``.
    public func declare(_ topic: NtfyTopic, at service: LabService) {
        core.withState { $0.topics[service, default: [:]][topic.name] = topic }
    }

    /// Lets an application send to Gotify.
    public func declare(_ application: GotifyApplication) {
        core.withState { $0.gotify.declare(application) }
    }

    /// A Gotify application was deleted, or its token changed: 401 from now on.
    public func revoke(gotifyToken: String) {
        core.withState { $0.gotify.remove(gotifyToken) }
    }
}
