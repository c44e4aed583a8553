import CarillonABI
import Core
import PluginKit
import PluginTestSupport
import Testing

/// The events and results of a plugin's streams.
@Suite struct StreamTests {
    private typealias Events = Heard<StreamEvent>

    private let fake = FakeHost()
    private let events = Events()

    private func open(_ target: StreamTarget) throws -> HostStream {
        try Host(fake.pointer).openStream(to: target) { [events] _, event in events.add(event) }
    }

    @Test func targetArrivesWhole() throws {
        var target = StreamTarget(host: "mail.example.com", port: 587)
        target.usesTLS = true
        target.isUntrusted = true
        target.connectTimeout = .seconds(3)
        target.idleTimeout = .minutes(1)
        target.authorities = "PEM"
        _ = try open(target)
        let stream = try #require(fake.streams.all.first)
        #expect(stream.host == "mail.example.com" && stream.port == 587)
        #expect(stream.usesTLS && stream.isUntrusted)
        #expect(stream.connectTimeout == 3_000 && stream.idleTimeout == 60_000)
        #expect(stream.authorities == "PEM")
    }

    @Test func eventsComeInOrderAndEndOnce() throws {
        let stream = try open(StreamTarget(host: "192.0.2.1", port: 25))
        fake.streams.opened()
        fake.streams.receive("220 ready\r\n")
        #expect(stream.write(Array("EHLO me\r\n".utf8)) == .taken)
        fake.streams.drained()
        fake.streams.end(0, "reset")
        fake.streams.end(0, "timeout")
        fake.streams.receive("late")
        #expect(events.all == [.opened, .received(Array("220 ready\r\n".utf8)), .drained, .closed(reason: "reset")])
        #expect(fake.streams.all.first?.text == "EHLO me\r\n")
        #expect(stream.write([1]) == .closed)
    }

    @Test func writingMayWait() throws {
        let stream = try open(StreamTarget(host: "192.0.2.1", port: 25))
        fake.streams.setWriting(.CARILLON_BUSY)
        #expect(stream.write([1, 2, 3]) == .busy)
        #expect(fake.streams.all.first?.written.isEmpty == true)
    }

    @Test func startTLSAndCloseReachTheHost() throws {
        let stream = try open(StreamTarget(host: "192.0.2.1", port: 25))
        _ = stream.write(Array("STARTTLS\r\n".utf8))
        stream.startTLS()
        stream.close()
        #expect(fake.streams.all.first?.tlsStarts == [10])
        #expect(fake.streams.all.first?.isClosing == true)
        #expect(stream.write([1]) == .closed)
    }

    @Test func eventHandlersAreReleasedAtTheEnd() throws {
        weak var weakEvents: Events?
        do {
            let events = Events()
            weakEvents = events
            _ = try Host(fake.pointer).openStream(to: StreamTarget(host: "192.0.2.1", port: 25)) { events.add($1) }
        }
        #expect(weakEvents != nil)
        fake.streams.end()
        #expect(weakEvents == nil)
    }

    @Test(arguments: [carillon_status.CARILLON_INVALID, .CARILLON_BUSY, .CARILLON_UNSUPPORTED, .CARILLON_FAILED])
    func refusalsAreErrors(_ status: carillon_status) {
        fake.streams.setAdmission(status)
        #expect(throws: PluginError.self) { try open(StreamTarget(host: "192.0.2.1", port: 25)) }
        #expect(events.all.isEmpty)
    }
}
