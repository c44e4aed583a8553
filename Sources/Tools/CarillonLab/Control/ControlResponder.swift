import Foundation
import NIOCore

/// The control endpoint: shows requests, orders misbehaviours, declares tokens and receivers.
///
/// - `GET /`: the lab's addresses
/// - `GET /received?wait=N&timeout_ms=…&service=…&after=SEQUENCE`: lines of JSON, or readable text with `text=1`
/// - `DELETE /received`
/// - `POST /misbehave`, `POST /tokens`, `POST /receivers`: an object or an array of objects
/// - `GET /misbehave`: the remaining misbehaviours; `DELETE /misbehave`
/// - `POST /reset`: removes requests, misbehaviours and declarations
/// - `POST /subscriptions`: an object (see ``WebPushSubscriptionRequest``); returns the subscription in a browser's
///   form
/// - `DELETE /subscriptions?id=…`: ends the subscription
/// - `GET /browsers`: counts of browsers and subscriptions, and Firefox's codes for messages
/// - `DELETE /browsers`: Mozilla's service forgets them, so that they lose their subscriptions
struct ControlResponder: Sendable {
    /// The longest a request may wait, in milliseconds.
    private static let longestWait: Int64 = 600_000

    private static let services = LabService.allCases.map(\.rawValue).joined(separator: ", ")

    let core: LabCore
    /// Nil: there are none.
    let browsers: Browsers?
    let addresses: @Sendable () -> LabAddresses?

    func decide(_ request: LabRequest, on loop: any EventLoop) -> EventLoopFuture<HTTP1Step> {
        if request.method == "GET", request.path == "/received" {
            return received(request, on: loop)
        }
        return loop.makeSucceededFuture(.answer(answer(request)))
    }

    private func answer(_ request: LabRequest) -> HTTPAnswer {
        do {
            switch (request.method, request.path) {
            case ("GET", "/"):
                return HTTPAnswer(status: 200, json: addresses()?.json ?? "{}")
            case ("DELETE", "/received"):
                core.recorder.removeAll()
            case ("POST", "/misbehave"):
                let misbehaviours = try Self.items(ScriptedBehavior.self, request)
                core.withState { $0.script.add(contentsOf: misbehaviours) }
            case ("GET", "/misbehave"):
                let lines = core.withState { $0.script.pending }.map { ($0.jsonText() ?? "{}") + "\n" }
                return HTTPAnswer(status: 200, contentType: "application/jsonl", Array(lines.joined().utf8))
            case ("POST", "/reset"):
                core.reset()
            case ("DELETE", "/misbehave"):
                core.withState { $0.script.removeAll() }
            case ("POST", "/tokens"):
                let devices = try Self.items(DeclaredDevice.self, request)
                core.withState { state in
                    for device in devices {
                        device.declare(in: &state)
                    }
                }
            case ("POST", "/receivers"):
                for receiver in try Self.items(WebPushReceiver.self, request) {
                    try core.declare(receiver)
                }
            case ("POST", "/subscriptions"):
                return try subscribe(request)
            case ("DELETE", "/subscriptions"):
                guard core.withState({ $0.subscriptions.expire(request.query["id"] ?? "") }) else {
                    return Self.problem(404, "There is no subscription of that id.")
                }
            case ("GET", "/browsers"):
                return HTTPAnswer(status: 200, json: try connected().summary.jsonText() ?? "{}")
            case ("DELETE", "/browsers"):
                try connected().forgetFirefox()
            default:
                return Self.problem(
                    404,
                    "There are GET /, /received, /browsers and /misbehave, POST /misbehave, /tokens, /receivers, /subscriptions and "
                        + "/reset, DELETE /received, /browsers, /misbehave and /subscriptions."
                )
            }
            return HTTPAnswer(status: 200, json: "{}")
        } catch let error as DecodingError {
            return Self.problem(400, LabError.explain(error))
        } catch {
            return Self.problem(400, "\(error)")
        }
    }

    private func connected() throws -> Browsers {
        guard let browsers else {
            throw LabError.invalid("The lab serves no browsers: start it with --browsers.")
        }
        return browsers
    }

    private func subscribe(_ request: LabRequest) throws -> HTTPAnswer {
        guard let service = addresses()?.webPush else { throw LabError.invalid("There is no Web Push here.") }
        let order = try JSONDecoder().decode(WebPushSubscriptionRequest.self, from: Data(request.body))
        let subscription = order.subscription(ownKey: service.applicationServerKey)
        try core.withState { try $0.subscriptions.add(subscription) }
        return HTTPAnswer(status: 201, json: try subscription.json(at: service.url).compact)
    }

    private func received(_ request: LabRequest, on loop: any EventLoop) -> EventLoopFuture<HTTP1Step> {
        let query = request.query
        let service = query["service"].map(LabService.init(rawValue:))
        let numbers = ["wait", "timeout_ms", "after"].map { name in query[name].map { Int64($0) } }
        guard service != .some(nil), !numbers.contains(.some(nil)) else {
            return loop.makeSucceededFuture(
                .answer(Self.problem(400, "wait, timeout_ms and after are numbers, service is one of \(Self.services)"))
            )
        }
        let after = numbers[2].flatMap { $0 } ?? 0
        let matching: @Sendable (ReceivedRequest) -> Bool = { received in
            Int64(received.sequence) > after && (service == nil || .some(received.service) == service)
        }
        let count = Int(clamping: max(0, numbers[0].flatMap { $0 } ?? 0))
        let timeout = min(max(0, numbers[1].flatMap { $0 } ?? 10_000), Self.longestWait)
        let core = core
        let isText = query["text"] == "1"
        return core.recorder.awaitCount(count, timeout: .milliseconds(timeout), on: loop, matching: matching).requests
            .map { (200, $0) }
            // Too few: returns those with another status.
            .flatMapErrorThrowing { _ in (408, core.recorder.requests.filter(matching)) }
            .map { status, requests in
                let lines = requests.map { (isText ? $0.readable : $0.jsonLine()) + "\n" }.joined()
                let type = isText ? "text/plain; charset=utf-8" : "application/jsonl"
                return .answer(HTTPAnswer(status: status, contentType: type, Array(lines.utf8)))
            }
    }

    private static func items<Item: Decodable>(_ type: Item.Type, _ request: LabRequest) throws -> [Item] {
        let isArray = request.body.first { $0 > 0x20 } == UInt8(ascii: "[")
        let data = Data(request.body)
        return isArray
            ? try JSONDecoder().decode([Item].self, from: data) : [try JSONDecoder().decode(Item.self, from: data)]
    }

    private static func problem(_ status: Int, _ text: String) -> HTTPAnswer {
        HTTPAnswer(status: status, json: ["error": text].jsonText() ?? "{}")
    }
}

/// A token or topic declared through the control endpoint. `"service"` is its service. Default: APNs.
enum DeclaredDevice: Decodable {
    case apns(APNsDevice)
    case fcm(FCMDevice)
    /// A topic of UnifiedPush or ntfy.
    case topic(NtfyTopic, LabService)
    case gotify(token: String, isRegistered: Bool)

    private enum CodingKeys: CodingKey {
        case service
        case token
        case state
    }

    private static let services: [LabService] = [.apns, .apnsSandbox, .fcm, .unifiedPush, .ntfy, .gotify]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decodeIfPresent(LabService.self, forKey: .service) {
        case nil, .apns: self = .apns(try APNsDevice(from: decoder))
        case .apnsSandbox:
            var device = try APNsDevice(from: decoder)
            device.environment = .sandbox
            self = .apns(device)
        case .fcm: self = .fcm(try FCMDevice(from: decoder))
        case .unifiedPush: self = .topic(try NtfyTopic(from: decoder), .unifiedPush)
        case .ntfy: self = .topic(try NtfyTopic(from: decoder), .ntfy)
        case .gotify:
            let state = try container.decodeIfPresent(String.self, forKey: .state) ?? "registered"
            guard ["registered", "unregistered"].contains(state) else {
                throw container.invalid(.state, "state is one of registered, unregistered")
            }
            let token = try container.decode(String.self, forKey: .token)
            self = .gotify(token: token, isRegistered: state == "registered")
        case .oauth, .webPush, .apnsChannels, .other:
            let words = Self.services.map(\.rawValue).joined(separator: ", ")
            throw container.invalid(.service, "service is one of \(words)")
        }
    }

    func declare(in state: inout LabCore.State) {
        switch self {
        case .apns(let device): state.apns.devices.declare(contentsOf: [device])
        case .fcm(let device): state.fcm.devices.declare(contentsOf: [device])
        case .topic(let topic, let service): state.topics[service, default: [:]][topic.name] = topic
        case .gotify(let token, isRegistered: true): state.gotify.declare(GotifyApplication(token: token))
        case .gotify(let token, isRegistered: false): state.gotify.remove(token)
        }
    }
}
