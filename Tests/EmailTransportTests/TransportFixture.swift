import CarillonABI
import Foundation
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import EmailTransport

/// A transport on a host; the test plays the mail server on its streams.
struct TransportFixture: TransportBench {
    static let block: [String: any Sendable] = [
        "server": "smtp.example.com", "from": "push@example.org", "security": "none",
    ]

    let host = FakeHost()
    let clock = ManualClock()
    let transport: EmailTransport

    /// `more` goes into the configuration block.
    init(_ more: [String: any Sendable] = [:]) throws {
        let clock = clock
        transport = try EmailTransport(
            configuration: JSONObject(TransportFixture.block.merging(more) { $1 }),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    /// Delivers and returns the transport's result.
    @discardableResult
    func deliver(
        _ sample: SampleNotification = .alert(title: "Alice", body: "See you at noon"),
        to token: String = "bob@example.net",
        ticket: UInt64 = 1
    ) throws -> carillon_status {
        try deliver(sample, to: SampleRegistration(token: token), ticket: ticket)
    }

    var device: SampleRegistration { SampleRegistration(token: "bob@example.net") }

    /// Connects the stream at `index`, and answers until a message may be sent.
    func welcome(_ index: Int = 0, offers: [String] = ["SIZE 100000"]) {
        host.streams.opened(index)
        say("220 mx.example.com ESMTP", on: index)
        let lines = ["mx.example.com"] + offers
        for (number, line) in lines.enumerated() {
            say("250\(number == lines.count - 1 ? " " : "-")\(line)", on: index)
        }
    }

    /// Sends a line of the mail server.
    func say(_ line: String, on index: Int = 0) { host.streams.receive("\(line)\r\n", on: index) }

    /// The mail server accepts the message in flight.
    func take(on index: Int = 0) {
        for line in ["250 sender", "250 recipient", "354 go ahead", "250 2.0.0 queued"] { say(line, on: index) }
    }

    /// Returns the commands on a stream, without messages.
    func commands(_ index: Int = 0) -> [String] {
        var commands: [String] = []
        var isInMessage = false
        for line in host.streams.all[index].text.components(separatedBy: "\r\n") where !line.isEmpty {
            if isInMessage {
                isInMessage = line != "."
            } else {
                commands.append(line)
                isInMessage = line == "DATA" && host.streams.all[index].text.contains("DATA\r\nFrom:")
            }
        }
        return commands
    }

    /// Returns the last message on a stream, without the final dot.
    func message(_ index: Int = 0) -> String {
        let text = host.streams.all[index].text
        guard let start = text.range(of: "DATA\r\n", options: .backwards),
            let end = text.range(of: "\r\n.\r\n", range: start.upperBound..<text.endIndex)
        else { return "" }
        return String(text[start.upperBound..<end.lowerBound]) + "\r\n"
    }
}
