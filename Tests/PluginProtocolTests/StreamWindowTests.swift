import CarillonABI
import PluginProtocol
import Testing

/// The limits on buffered bytes of a stream, in both directions.
@Suite struct StreamWindowTests {
    @Test func sendBufferHoldsOneMebibyte() {
        var window = SendWindow()
        #expect(window.take(1 << 20) == true)
        #expect(window.take(1) == false)
        #expect(window.sent(1 << 19) == .nothing)
        #expect(window.take(1 << 19) == true)
        #expect(window.take(1) == false)
        #expect(window.sent(1 << 20) == .nothing)
        #expect(window.sent((1 << 20) + (1 << 19)) == .drained)
        #expect(window.take(1) == true)
        #expect(window.sent((1 << 20) + (1 << 19) + 1) == .nothing)
    }

    @Test func peerCannotSendMoreThanWasTaken() {
        var window = SendWindow()
        #expect(window.take(10) == true)
        #expect(window.sent(11) == .impossible)
        #expect(window.sent(10) == .nothing)
        #expect(window.sent(9) == .impossible)
        #expect(window.sent(.max) == .impossible)
    }

    @Test func readingPausesAtTheLimitAndGoesOnAtItsHalf() {
        var window = ReceiveWindow()
        #expect(window.give(ReceiveWindow.limit - 1) == false)
        #expect(window.give(1) == true)
        #expect(window.give(1_000) == false)
        #expect(window.took(UInt64(ReceiveWindow.limit / 2)) == .nothing)
        #expect(window.took(UInt64(ReceiveWindow.limit / 2) + 1_000) == .resume)
        #expect(window.isOpen)
        #expect(window.took(UInt64(ReceiveWindow.limit) + 1_000) == .nothing)
        #expect(!window.isOpen)
    }

    @Test func peerCannotTakeMoreThanWasGiven() {
        var window = ReceiveWindow()
        _ = window.give(10)
        #expect(window.took(11) == .impossible)
        #expect(window.took(10) == .nothing)
        #expect(window.took(9) == .impossible)
    }

    @Test func targetsAreChecked() {
        func expect(_ expected: carillon_status, _ change: (inout carillon_stream_target) -> Void) {
            var target = carillon_stream_target()
            target.struct_size = UInt32(MemoryLayout<carillon_stream_target>.size)
            target.host = carillon_str("mail.example.com")
            target.port = 25
            change(&target)
            var status = carillon_status.CARILLON_OK
            do throws(FormError) {
                _ = try StreamForm.checked(&target)
            } catch {
                status = error.status
            }
            #expect(status == expected)
        }
        expect(.CARILLON_OK) { _ in }
        expect(.CARILLON_OK) { $0.host = carillon_str("2001:db8::1") }
        expect(.CARILLON_INVALID) { $0.port = 0 }
        expect(.CARILLON_INVALID) { $0.port = 65_536 }
        expect(.CARILLON_INVALID) { $0.host = carillon_str("") }
        expect(.CARILLON_INVALID) { $0.host = carillon_str("a b") }
        expect(.CARILLON_INVALID) { $0.host = carillon_str("b\u{fc}cher.example") }
        expect(.CARILLON_INVALID) { $0.host.len = 254 }
        expect(.CARILLON_INVALID) { $0.host.ptr = nil }
        expect(.CARILLON_INVALID) { $0.connect_timeout_ms = 60_001 }
        expect(.CARILLON_INVALID) { $0.idle_timeout_ms = 3_600_001 }
        expect(.CARILLON_INVALID) { $0.authorities.len = 1 }
        expect(.CARILLON_INVALID) { $0.authorities = carillon_bytes(ptr: $0.host.ptr, len: (256 << 10) + 1) }
        expect(.CARILLON_UNSUPPORTED) { $0.flags = 1 << 2 }
        expect(.CARILLON_INVALID) { $0.struct_size = 4 }
    }
}
