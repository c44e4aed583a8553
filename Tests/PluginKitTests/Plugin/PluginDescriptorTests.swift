import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

struct PluginDescriptorTests {
    private let host = FakeHost()

    private func transport() throws -> carillon_transport {
        try #require(echoPlugin.pointee.transports?[0]).pointee
    }

    /// Creates an instance, calls `use` with it and destroys it.
    private func withInstance(
        _ behaviour: String,
        _ use: (carillon_transport, UnsafeMutableRawPointer) throws -> Void
    ) throws {
        let transport = try transport()
        let arena = ABIArena()
        var instance: UnsafeMutableRawPointer?
        let status = transport.create(host.pointer, arena.text(#"{"behaviour":"\#(behaviour)"}"#), &instance, nil)
        #expect(status == .CARILLON_OK)
        let made = try #require(instance)
        try use(transport, made)
        transport.destroy(made)
    }

    private func deliver(
        _ behaviour: String,
        _ sample: SampleNotification = SampleNotification()
    ) throws -> carillon_status {
        var status = carillon_status.CARILLON_FAILED
        try withInstance(behaviour) { transport, instance in
            status = SampleRegistration(token: "good").withABI { registration in
                sample.withABI { transport.deliver(instance, 42, registration, $0) }
            }
        }
        return status
    }

    @Test func describesThePlugin() throws {
        #expect(FakeHost.text(echoPlugin.pointee.id) == "org.example.echo")
        #expect(echoPlugin.pointee.struct_size == UInt32(MemoryLayout<carillon_plugin>.size))
        #expect(echoPlugin.pointee.transport_count == 1)
        #expect(FakeHost.text(try transport().platform) == "echo")
    }

    @Test(arguments: [
        ("", "configuration: expected an object at byte 0"),
        ("[]", "configuration: expected an object at byte 0"),
        (#"{"behaviour":}"#, "configuration: expected a value at byte 13"),
        ("{}", "behaviour: expected what to do, found nothing"),
        (#"{"behaviour":[]}"#, "behaviour: expected what to do, found a list"),
    ])
    func invalidConfigurationIsRefusedWithAMessage(_ configuration: String, _ sentence: String) throws {
        let arena = ABIArena()
        var room = [CChar](repeating: 0, count: 200)
        try room.withUnsafeMutableBufferPointer { room in
            var error = carillon_error(buf: room.baseAddress, capacity: room.count, len: 0)
            var instance: UnsafeMutableRawPointer?
            let status = try transport().create(host.pointer, arena.text(configuration), &instance, &error)
            #expect(status == .CARILLON_INVALID)
            #expect(instance == nil)
            #expect(FakeHost.text(carillon_str(ptr: error.buf, len: error.len)) == sentence)
        }
    }

    @Test func errorIsCutToItsBuffer() throws {
        let arena = ABIArena()
        var room = [CChar](repeating: 0x7A, count: 12)
        try room.withUnsafeMutableBufferPointer { room in
            var error = carillon_error(buf: room.baseAddress, capacity: 9, len: 0)
            var instance: UnsafeMutableRawPointer?
            _ = try transport().create(host.pointer, arena.text("{}"), &instance, &error)
            #expect(FakeHost.text(carillon_str(ptr: error.buf, len: error.len)) == "behaviour")
        }
        #expect(room[9...] == [0x7A, 0x7A, 0x7A])
    }

    @Test func aHostWithoutItsFunctionsIsRefused() throws {
        let arena = ABIArena()
        var short = host.pointer.pointee
        short.struct_size = 16
        var instance: UnsafeMutableRawPointer?
        let status = try transport().create(&short, arena.text(#"{"behaviour":"forget"}"#), &instance, nil)
        #expect(status == .CARILLON_INVALID)
    }

    @Test func validateFunctionCallsTheTransport() throws {
        try withInstance("forget") { transport, instance in
            let good = SampleRegistration(token: "good").withABI { transport.validate(instance, $0, nil) }
            let bad = SampleRegistration(token: "bad").withABI { transport.validate(instance, $0, nil) }
            #expect(good == .CARILLON_OK)
            #expect(bad == .CARILLON_INVALID)
        }
    }

    @Test func secondCompletionIsIgnored() throws {
        #expect(try deliver("complete twice") == .CARILLON_OK)
        #expect(host.outcomes.map(\.reason) == ["first"])
        #expect(host.outcomes.first?.ticket == 42)
    }

    @Test func completedTicketCountsAsAccepted() throws {
        #expect(try deliver("complete and refuse") == .CARILLON_OK)
        #expect(host.outcomes.map(\.reason) == ["first"])
    }

    @Test func aRefusedTicketIsNeverCompleted() throws {
        #expect(try deliver("refuse") == .CARILLON_BUSY)
        #expect(host.outcomes.isEmpty)
    }

    @Test func aForgottenTicketEndsAsARetry() throws {
        #expect(try deliver("forget") == .CARILLON_OK)
        #expect(host.outcomes.map(\.kind) == [.CARILLON_RETRY])
        #expect(host.outcomes.map(\.reason) == ["abandoned"])
    }

    @Test func fieldsThatAnOlderHostDoesNotHaveAreZero() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.expiresAt = 99
        _ = try deliver("describe", sample)
        sample.structSize = UInt32(MemoryLayout<carillon_notification>.offset(of: \.expires_unix_ms) ?? 0)
        _ = try deliver("describe", sample)
        sample.structSize = 4
        _ = try deliver("describe", sample)
        sample.structSize = 100_000
        _ = try deliver("describe", sample)
        #expect(host.outcomes.map(\.retryAfter) == [99, 7, 7, 99])
        #expect(host.outcomes.map(\.reason) == ["t", "t", "", "t"])
    }

    @Test func carriesARequestAndItsAnswer() throws {
        var sample = SampleNotification()
        sample.title = "Grüße"
        #expect(try deliver("send", sample) == .CARILLON_OK)
        let request = try #require(host.requests.first)
        #expect(request.method == "POST")
        #expect(request.url == "https://push.example/good")
        #expect(request.headers == ["x-title": "Grüße", "x-empty": ""])
        #expect(request.body == [1, 2, 3])
        #expect(host.outcomes.isEmpty)
        host.answer(status: 503, headers: ["retry-after": "3"], failure: "Not A Word")
        #expect(
            host.outcomes == [
                RecordedOutcome(ticket: 42, kind: .CARILLON_RETRY, status: 503, retryAfter: 3000, reason: "no-answer")
            ]
        )
        #expect(!host.answer(status: 200))
    }

    @Test(arguments: [
        (carillon_status.CARILLON_BUSY, carillon_status.CARILLON_BUSY), (.CARILLON_INVALID, .CARILLON_INVALID),
        (.CARILLON_FAILED, .CARILLON_FAILED),
    ])
    func aRequestThatTheHostRefusesRefusesTheDelivery(_ refusal: carillon_status, _ expected: carillon_status) throws {
        host.setAdmission(refusal)
        #expect(try deliver("send") == expected)
        #expect(host.outcomes.isEmpty)
    }
}
