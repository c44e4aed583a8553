import HTTPLanes
import Logging
import Notifications
import Platforms
import PluginHost
import Schnorr
import Sealing
import Streams
import Synchronization
import Units

/// Delivers to nobody: plugins as in a running router, on a host that records what they send and answers as if all were
/// well.
///
/// For one delivery at a time.
///
/// `carillon rules try` uses it, and so do the tests that hold all rules on all platforms to their promises. It tries
/// stricter forms in the same order as the courier.
package final class DryRun: Sendable {
    private let host: PluginHost
    private let blocks: [String: String]
    private let platforms: PlatformCatalog
    private let identity: SecretKey
    private let stages = Mutex<[String: Stage]>([:])
    private let now: @Sendable () -> Deadline

    private struct Stage {
        let transport: TransportInstance
        let recorder: RecordingHTTP
        let streams: RecordingStreams
    }

    /// `blocks` are platform blocks by platform; one that is missing is the sample of `platforms`. `now` is what
    /// deadlines go by.
    package init(
        host: PluginHost,
        blocks: [String: String],
        platforms: PlatformCatalog,
        sealingAs identity: SecretKey,
        now: @escaping @Sendable () -> Deadline = Deadline.now
    ) {
        self.host = host
        self.blocks = blocks
        self.platforms = platforms
        self.identity = identity
        self.now = now
    }

    /// What becomes of `notification` on its way to `device`, with every form of it that had to be downgraded.
    ///
    /// Throws what the plugin says against its block or the device's address.
    package func deliver(
        _ notification: Notification,
        id: DeliveryID,
        to device: SampleDevice
    ) async throws -> DryRunResult {
        let stage = try stage(for: device.address)
        try stage.transport.validate(device.address)
        var reductions: [DryRunResult.Reduction] = []
        var next = sealed(notification, id: id, for: device, &reductions)
        while true {
            let outcome = await outcome(of: next, id: id, to: device.address, over: stage.transport)
            let request = stage.recorder.takeRequests().last { !$0.isTokenRequest }
            guard let downgraded = next.downgraded(after: outcome) else {
                return DryRunResult(
                    mode: next.mode,
                    reductions: reductions,
                    request: request,
                    stream: stage.streams.takeTarget(),
                    reason: outcome.reason,
                    decrypted: request.flatMap { device.decrypt($0.body) }
                )
            }
            reductions.append(DryRunResult.Reduction(mode: next.mode, reason: outcome.reason))
            next = downgraded
        }
    }

    private func sealed(
        _ notification: Notification,
        id: DeliveryID,
        for device: SampleDevice,
        _ reductions: inout [DryRunResult.Reduction]
    ) -> Notification {
        guard notification.mode == .sealed, !host.encryptingPlatforms.contains(device.address.platform) else {
            return notification
        }
        if let sealed = try? Sealer().seal(notification, id: id, for: device.sealingKey, from: identity) {
            return sealed
        }
        reductions.append(DryRunResult.Reduction(mode: .sealed, reason: "not-sealed"))
        return notification.stricter ?? notification
    }

    private func stage(for address: DeviceAddress) throws -> Stage {
        try stages.withLock { stages in
            if let stage = stages[address.platform] { return stage }
            let recorder = RecordingHTTP { .success($0.isTokenRequest ? .token : HTTPResponse(status: 200)) }
            let streams = RecordingStreams()
            let transport = try host.makeTransport(
                platform: address.platform,
                app: address.app,
                configuration: blocks[address.platform] ?? sample(of: address.platform),
                settings: InstanceSettings(
                    sender: recorder,
                    streams: streams,
                    log: Logger(label: "carillon.dry-run") { _ in SwiftLogNoOpLogHandler() },
                    deliveryTimeout: .seconds(10),
                    now: now
                )
            )
            let stage = Stage(transport: transport, recorder: recorder, streams: streams)
            stages[address.platform] = stage
            return stage
        }
    }

    /// A block with throw-away keys, which no push service knows.
    private func sample(of platform: String) -> String {
        platforms[platform]?.sample.configuration(generate: SampleKeys.make) ?? "{}"
    }

    private func outcome(
        of notification: Notification,
        id: DeliveryID,
        to address: DeviceAddress,
        over transport: TransportInstance
    ) async -> Outcome {
        await withCheckedContinuation { continuation in
            transport.deliver(notification, id: id, to: address) { continuation.resume(returning: $0) }
        }
    }
}

/// Streams that end when they have begun, and where they would have led.
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

extension HTTPRequest {
    /// An OAuth 2.0 token request (RFC 6749 section 4): made on the way to a push, not the push.
    fileprivate var isTokenRequest: Bool {
        String(decoding: body.prefix(256), as: UTF8.self).contains("grant_type=")
    }
}

extension HTTPResponse {
    fileprivate static var token: HTTPResponse {
        HTTPResponse(
            status: 200,
            body: Array(#"{"access_token":"dry-run","expires_in":3600,"token_type":"Bearer"}"#.utf8)
        )
    }
}

/// What a delivery would have come to.
package struct DryRunResult: Sendable {
    /// A form of the notification that its transport did not take.
    package struct Reduction: Sendable, Hashable {
        package var mode: Mode
        /// The outcome's word, such as `payload-too-large`.
        package var reason: String
    }

    /// The mode that went out in the end.
    package var mode: Mode
    /// What was tried before, in order.
    package var reductions: [Reduction]
    /// What the push service would have got; nil when the transport sends nothing.
    package var request: HTTPRequest?
    /// Where a stream would have led that the transport opened, which leads nowhere here; nil when it opened none.
    package var stream: String?
    /// The outcome's word, for when there is no request.
    package var reason: String
    /// The body as the device reads it, when it was encrypted to the device.
    package var decrypted: [UInt8]?
}
