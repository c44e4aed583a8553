import NIOCore
import NIOHTTP1
import NIOWebSocket
import Synchronization

/// The browsers that are connected to the lab. They receive the messages that the lab's Web Push service accepts for
/// them.
///
/// Subscriptions of other clients are not affected.
final class Browsers: Sendable {
    private struct State: Sendable {
        var mozilla: MozillaBrowsers
        var google: GoogleBrowsers
        /// The open connections by number.
        var channels: [Int: any Channel] = [:]
    }

    private let state: Mutex<State>
    private let core: LabCore
    /// The Web Push service's origin, once it listens.
    private let origin: @Sendable () -> String

    init(_ core: LabCore, origin: @escaping @Sendable () -> String) {
        self.core = core
        self.origin = origin
        state = Mutex(State(mozilla: MozillaBrowsers(random: core.random), google: GoogleBrowsers(random: core.random)))
    }

    /// Counts of browsers and subscriptions, and of Firefox's acknowledgements by code.
    var summary: BrowserSummary {
        state.withLock { state in
            BrowserSummary(
                firefox: .init(
                    connected: state.mozilla.connectionCount,
                    subscriptions: state.mozilla.subscriptionCount,
                    codes: Dictionary(uniqueKeysWithValues: state.mozilla.codes.map { (String($0.key), $0.value) })
                ),
                chromium: .init(connected: state.google.connectionCount, subscriptions: state.google.subscriptionCount)
            )
        }
    }

    /// Forwards a message that the Web Push service accepted.
    func push(_ message: BrowserMessage) {
        change { [core] state in state.mozilla.push(message) + state.google.push(message, now: core.now()) }
    }

    /// Makes Mozilla's service forget all browsers, so that they lose their subscriptions.
    func forgetFirefox() {
        change { state in state.mozilla.forget() }
    }

    func connect(_ connection: Int, _ channel: any Channel) {
        state.withLock { $0.channels[connection] = channel }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                state.channels[connection] = nil
                state.mozilla.disconnect(connection)
                state.google.disconnect(connection)
            }
        }
    }

    func receive(mozilla bytes: [UInt8], from connection: Int) {
        let folder = origin() + WebPushFlavour.mozilla.folder
        change(as: .mozilla) { state in state.mozilla.receive(bytes, from: connection) { folder + $0 } }
    }

    func receive(google frame: MCSReader.Frame, from connection: Int) {
        change { [core] state in state.google.receive(frame, from: connection, now: core.now()) }
    }

    /// Answers Chromium's check-in and registration.
    func answer(google request: LabRequest) -> HTTPAnswer {
        switch (request.method, request.path) {
        case ("POST", GooglePath.checkIn):
            let answer = state.withLock { $0.google.checkIn(now: core.now()) }
            return HTTPAnswer(status: 200, contentType: "application/x-protobuf", answer)
        case ("POST", GooglePath.registration):
            let form = LabRequest.parameters(of: String(decoding: request.body, as: UTF8.self))
            var answer = ""
            change(as: .fcm) { state in
                let registered = state.google.register(form)
                answer = registered.answer
                return registered.actions
            }
            return HTTPAnswer(status: 200, contentType: "text/plain", Array(answer.utf8))
        default: return HTTPAnswer(status: 404)
        }
    }

    /// `flavour` applies to new subscriptions.
    private func change(as flavour: WebPushFlavour = .mozilla, _ body: (inout State) -> [BrowserAction]) {
        let (actions, channels) = state.withLock { state in (body(&state), state.channels) }
        for action in actions {
            switch action {
            case .send(let bytes, let connection): channels[connection]?.send(bytes)
            case .close(let connection): channels[connection]?.close(promise: nil)
            case .expire(let id): core.withState { _ = $0.subscriptions.expire(id) }
            case .subscribe(let id, let key):
                var subscription = WebPushSubscription(applicationServerKey: key, flavour: flavour)
                subscription.receiver.topic = id
                // Its keys are new, and its ID has the required form.
                core.withState { try? $0.subscriptions.add(subscription) }
            }
        }
    }
}

/// The paths of Chromium's services.
enum GooglePath {
    static let checkIn = "/checkin"
    static let registration = "/register"
}

/// The response to `GET /browsers` of the control endpoint.
struct BrowserSummary: Encodable {
    struct Service: Encodable {
        var connected: Int
        var subscriptions: Int
        var codes: [String: Int]?
    }

    var firefox: Service
    var chromium: Service
}

extension Channel {
    /// Writes bytes to a browser; the connection's handlers frame them.
    fileprivate func send(_ bytes: [UInt8]) {
        writeAndFlush(allocator.buffer(bytes: bytes), promise: nil)
    }
}

/// A message to a browser that the lab's Web Push service has accepted.
struct BrowserMessage: Sendable {
    /// The last part of the subscription's endpoint.
    var subscription: String
    /// In seconds.
    var timeToLive: Int64
    /// Unchanged from the sender; empty for a message without content.
    var body: [UInt8]
    /// `Content-Encoding`.
    var encoding: String?
}

extension BrowserMessage {
    /// Copies an accepted request.
    init(_ request: LabRequest, to subscription: String) {
        self.init(
            subscription: subscription,
            timeToLive: request.header("ttl").flatMap { Int64($0) } ?? 0,
            body: request.body,
            encoding: request.header("content-encoding")
        )
    }
}

/// An action after a browser's frame or a message for it.
enum BrowserAction: Sendable, Equatable {
    /// Sends the bytes to the browser on this connection.
    case send([UInt8], to: Int)
    /// Closes the connection.
    case close(Int)
    /// Adds a subscription; `key` is the only accepted sender's, in base64url.
    case subscribe(id: String, key: String?)
    /// Ends a subscription.
    case expire(id: String)
}
