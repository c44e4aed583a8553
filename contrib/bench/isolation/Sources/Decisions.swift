import CarillonABI
import Glibc
import Logging
import PluginHost
import PluginProtocol

/// Measures questions to a filter in a process about one event for several accounts, together and one by one. Prints
/// the time per event.
struct Decisions {
    private static let event = [UInt8](repeating: UInt8(ascii: "e"), count: 900)

    private let instance: IsolatedInstance

    init(program: String, plugin path: String) throws {
        let supervisor = ChildSupervisor(settings: IsolationSettings(program: program), log: Logger(label: "bench"))
        let plugin = try IsolatedPlugin.load([IsolatedLibrary(path: path)], into: supervisor)[0].get()
        guard let instance = plugin.create(.filter, at: 0, configuration: "{}", for: Load()).instance else {
            preconditionFailure("no filter")
        }
        self.instance = instance
    }

    func run(seconds: Double) {
        for accounts in [1, 10, 100] {
            let single = time(seconds) { for _ in 0..<accounts { ask(1) } }
            let together = time(seconds) { ask(accounts) }
            print("\(accounts) accounts: \(together) us, one by one \(single) us")
        }
    }

    private func ask(_ count: Int) {
        var left = count
        while left > 0 {
            var batch = instance.decisions()
            while left > 0, !batch.isFull {
                batch.add(Self.write)
                left -= 1
            }
            for decision in batch.ask() {
                let isPassed = decision.read { $0.status == .CARILLON_OK && $0.decision == .CARILLON_PASS }
                precondition(isPassed == true)
            }
        }
    }

    private static func write(to writer: inout FrameWriter) {
        event.withUnsafeBytes { event in
            var call = carillon_filter_call()
            call.struct_size = UInt32(MemoryLayout<carillon_filter_call>.size)
            call.event = carillon_str(ptr: event.baseAddress, len: event.count)
            call.recipient = carillon_str(ptr: event.baseAddress, len: 64)
            call.author = carillon_str(ptr: event.baseAddress, len: 64)
            DecideMessage.write(call, to: &writer)
        }
    }

    /// The median time of `body` in microseconds.
    private func time(_ seconds: Double, _ body: () -> Void) -> Double {
        var times: [Double] = []
        let end = Self.now() + seconds
        while Self.now() < end || times.count < 10 {
            let start = Self.now()
            body()
            times.append(Self.now() - start)
        }
        return (times.sorted()[times.count / 2] * 1e7).rounded() / 10
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
