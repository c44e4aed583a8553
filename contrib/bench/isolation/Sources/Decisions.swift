import CarillonABI
import Glibc
import Logging
import PluginIsolation
import PluginProtocol

/// Questions to a filter about one event for several accounts: in this process, and in one of its own, together and one
/// by one. Prints how long an event takes.
struct Decisions {
    private typealias Decide =
        (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_filter_call>?, UnsafeMutablePointer<carillon_verdict>?
        ) -> carillon_status

    private static let event = [UInt8](repeating: UInt8(ascii: "e"), count: 900)

    private let plugin: IsolatedPlugin
    private let isolated: UnsafeMutableRawPointer?
    private let here: UnsafeMutableRawPointer?
    private let decideHere: Decide

    init(program: String, plugin path: String) throws {
        let supervisor = ChildSupervisor(settings: IsolationSettings(program: program), log: Logger(label: "bench"))
        let plugin = try IsolatedPlugin.load([IsolatedLibrary(path: path)], into: supervisor)[0].get()
        self.plugin = plugin
        isolated = Load().create { plugin.create(.filter, at: 0, $0, $1, $2, $3) }
        let filter = Load.plugin(path)?.pointee.filters[0]?.pointee
        guard let create = filter?.create, let decide = filter?.decide else { preconditionFailure("no filter") }
        here = Load().create { create($0, $1, $2, $3) }
        decideHere = { decide($0, $1, $2) }
    }

    func run(seconds: Double) {
        for accounts in [1, 10, 100] {
            let none = time(seconds) { for _ in 0..<accounts { ask(decideHere, here) } }
            let single = time(seconds) {
                for _ in 0..<accounts { ask({ IsolatedInstance.decide($0, $1, $2) }, isolated) }
            }
            let together = time(seconds) { askTogether(accounts) }
            print("\(accounts) accounts: none \(none) us, process \(together) us, process one by one \(single) us")
        }
        withExtendedLifetime(plugin) {}
    }

    private func ask(_ decide: Decide, _ instance: UnsafeMutableRawPointer?) {
        var verdict = carillon_verdict.CARILLON_DROP
        let status = lend { decide(instance, $0, &verdict) }
        precondition(status == .CARILLON_OK && verdict == .CARILLON_PASS)
    }

    private func askTogether(_ count: Int) {
        var left = count
        while left > 0, var batch = IsolatedInstance.decisions(of: isolated) {
            while left > 0, !batch.isFull {
                lend { batch.add($0.pointee) }
                left -= 1
            }
            for decision in batch.ask() {
                var verdict = carillon_verdict.CARILLON_DROP
                let status = decision.read(&verdict) { _, _ in }
                precondition(status == .CARILLON_OK && verdict == .CARILLON_PASS)
            }
        }
    }

    private func lend<Result>(_ body: (UnsafePointer<carillon_filter_call>) -> Result) -> Result {
        Self.event.withUnsafeBytes { event in
            var call = carillon_filter_call()
            call.struct_size = UInt32(MemoryLayout<carillon_filter_call>.size)
            call.event = carillon_str(ptr: event.baseAddress, len: event.count)
            call.recipient = carillon_str(ptr: event.baseAddress, len: 64)
            call.author = carillon_str(ptr: event.baseAddress, len: 64)
            return body(&call)
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
