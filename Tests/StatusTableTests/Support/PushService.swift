import CarillonLab
import Foundation
import Push

/// How a push service is set up for a table: the lab's part, the operator's configuration, and devices.
protocol PushService: Sendable {
    var platform: String { get }
    var service: LabService { get }
    /// The real host names, if the service is addressed by them.
    var names: [String] { get }
    func configure(_ lab: inout LabConfiguration)
    /// The lab's URL that all names lead to.
    func entrance(_ lab: Lab) -> String?
    /// The operator's block, for each of two apps.
    func block(_ app: App, _ lab: Lab) throws -> [String: any Sendable]
    /// `bench` distinguishes the devices of benches that share a lab.
    func place(_ device: TestDevice, _ lab: Lab, bench: Int) throws -> Place
    /// The notification to send.
    var notification: Push.Notification { get }
    /// The message id that a request carries, where the push service has one.
    func messageID(_ request: ReceivedRequest) -> String?
}

extension PushService {
    var names: [String] { [] }

    func entrance(_ lab: Lab) -> String? { nil }

    var notification: Push.Notification {
        Push.Notification(
            mode: .alert,
            signal: .dm,
            title: "Alice",
            body: "See you at noon",
            neutral: NeutralTexts(title: "New message", body: "Open the app to read it")
        )
    }

    func messageID(_ request: ReceivedRequest) -> String? { nil }
}

/// Two apps are two queues.
enum App: String, CaseIterable {
    case first
    case second
}

/// The device of a row, and three that may be held up with it.
enum TestDevice: Int, CaseIterable {
    case itself = 1
    case neighbour
    /// On another host, where users choose it.
    case stranger
    /// A device of the other app.
    case ofOtherApp

    var app: App { self == .ofOtherApp ? .second : .first }

    /// The lab's address, with another host name for the stranger.
    func reached(at url: String?) -> String {
        let url = url ?? ""
        return self == .stranger ? url.replacingOccurrences(of: "localhost", with: "127.0.0.1") : url
    }
}

/// A device's address, and the lab's name for it.
struct Place {
    var token: String
    var fields: [String: String] = [:]
    var target: String
}
