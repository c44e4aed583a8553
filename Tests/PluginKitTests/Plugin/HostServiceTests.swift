import CarillonABI
import Core
import PluginKit
import PluginTestSupport
import Testing

/// Timers and state, as plugins in Swift use them.
struct HostServiceTests {
    private typealias Firings = Heard<Void>

    private let fake = FakeHost()
    private let host: Host

    init() throws { host = try Host(fake.pointer) }

    @Test func timersFireOnceOrAgainAndAgain() throws {
        let (once, often) = (Firings(), Firings())
        _ = try host.startTimer(after: .seconds(5)) { once.add(()) }
        let repeated = try host.startTimer(after: .zero, every: .seconds(2)) { often.add(()) }
        #expect(fake.timers.waits == [.zero, .seconds(5)])
        fake.timers.advance(by: .seconds(4))
        #expect(once.all.isEmpty && often.all.count == 3)
        fake.timers.advance(by: .seconds(2))
        #expect(once.all.count == 1 && often.all.count == 4)
        repeated.cancel()
        fake.timers.advance(by: .minutes(1))
        #expect(once.all.count == 1 && often.all.count == 4)
        #expect(fake.timers.waits.isEmpty)
        repeated.cancel()
    }

    @Test func timersBeyondALimitAreErrors() throws {
        #expect(throws: PluginError.self) { _ = try host.startTimer(after: .days(367)) {} }
        for every: Duration in [.zero, .milliseconds(9), .days(367), .seconds(-1)] {
            #expect(throws: PluginError.self) { _ = try host.startTimer(after: .zero, every: every) {} }
        }
        for _ in 0..<1024 { _ = try host.startTimer(after: .seconds(1)) {} }
        let full = #expect(throws: PluginError.self) { _ = try host.startTimer(after: .zero) {} }
        #expect(full?.description.contains("too many") == true)
    }

    /// A timer's closure is released with the transport, and is not called again even if a host breaks the rules.
    @Test func timersEndWithTheTransport() throws {
        let transport = try #require(echoPlugin.pointee.transports?[0]).pointee
        let arena = ABIArena()
        var instance: UnsafeMutableRawPointer?
        #expect(transport.create(fake.pointer, arena.text(#"{"behaviour":""}"#), &instance, nil) == .CARILLON_OK)
        var firings: Firings? = Firings()
        weak let kept = firings
        _ = try host.startTimer(after: .zero, every: .seconds(1)) { [firings] in firings?.add(()) }
        firings = nil
        fake.timers.advance(by: .zero)
        #expect(kept?.all.count == 1)
        transport.destroy(instance)
        #expect(kept == nil)
        fake.timers.advance(by: .minutes(1))
    }

    @Test func stateIsReadBack() throws {
        #expect(try host.state("cursor") == nil)
        try host.setState("cursor", [0, 255])
        #expect(try host.state("cursor") == [0, 255])
        #expect(fake.states.values == ["cursor": [0, 255]])
        try host.setState("cursor", [])
        #expect(try host.state("cursor") == nil)
        fake.states.values["token"] = Array("secret".utf8)
        #expect(try host.state("token") == Array("secret".utf8))
    }

    @Test func stateBeyondALimitIsAnError() throws {
        let most = [UInt8](repeating: 1, count: 16 << 10)
        for key in ["", "ä", "two\nlines", String(repeating: "k", count: 65)] {
            #expect(throws: PluginError.self) { try host.setState(key, [1]) }
        }
        #expect(throws: PluginError.self) { try host.setState("large", most + [1]) }
        for number in 0..<16 { try host.setState("\(number)", most) }
        #expect(throws: PluginError.self) { try host.setState("17", [1]) }
        #expect(try host.state("17") == nil)
    }

    @Test func missingHostServiceIsNamed() throws {
        let fake = FakeHost(hasServices: false)
        let host = try Host(fake.pointer)
        let error = #expect(throws: PluginError.self) { _ = try host.startTimer(after: .zero) {} }
        #expect(error?.description.contains("carillon.timer/1") == true)
        #expect(throws: PluginError.self) { _ = try host.state("a") }
        #expect(throws: PluginError.self) { try host.setState("a", []) }
        withExtendedLifetime(fake) {}
    }
}
