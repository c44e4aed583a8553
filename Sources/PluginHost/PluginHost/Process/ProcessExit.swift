import CIsolation
import Glibc
import PluginProtocol

/// How a process ended, and the known reason.
package struct ProcessExit: Sendable, Equatable {
    /// The signal that ended it; 0: it exited.
    package var signal: Int32
    /// Its exit status.
    package var status: Int32
    /// Why the router ended it; completes a sentence. Nil: it ended on its own.
    package var reason: String?
    /// Its crash report.
    package var crash: CrashReport?

    package init(signal: Int32, status: Int32, reason: String? = nil, crash: CrashReport? = nil) {
        self.signal = signal
        self.status = status
        self.reason = reason
        self.crash = crash
    }

    /// Whether it was killed from outside, such as by the kernel or an operator: its plugins need not be at fault.
    var isAccident: Bool { signal != 0 && reason == nil && crash == nil }

    /// A description as the end of a sentence, with names for addresses in `modules`.
    package func text(_ modules: [DescriptorMessage.Module]) -> String {
        let stack = crash.map { $0.stack(modules) } ?? ""
        let place = stack.isEmpty ? "" : " in \(stack)"
        if let reason { return reason + place }
        guard signal != 0 else { return "exited with status \(status)" }
        let call = crash?.call.map { ", called for \($0)" } ?? (crash?.isInTimer == true ? ", called for a timer" : "")
        return crash == nil
            ? "was ended by \(CrashReport.name(ofSignal: signal))"
            : "crashed with \(CrashReport.name(ofSignal: signal))\(place)\(call)"
    }
}

/// A crash report from the crashing process: only a hint, because a broken process wrote it.
package struct CrashReport: Sendable, Equatable {
    /// Innermost first.
    package var addresses: [UInt64]
    package var signal: Int32
    /// The frame that the thread was handling; 0: none.
    package var id: UInt64
    /// The kind of that frame.
    package var call: FrameKind?
    /// Whether a timer had called the plugin.
    package var isInTimer: Bool
    /// The libraries of the addresses, as reported by the process. There may be more than the router knows, if it
    /// crashed while it loaded one.
    package var modules: [DescriptorMessage.Module]

    /// The last complete report in `bytes`: a process first writes one without a stack, then another with it. The names
    /// of libraries follow each.
    package init?(reading bytes: [UInt8]) {
        var last: carillon_crash_report?
        modules = []
        var rest = bytes[...]
        while true {
            if let report = Self.take(carillon_crash_report.self, from: &rest, magic: CARILLON_CRASH_MAGIC) {
                last = report
            } else if let found = Self.take(
                carillon_crash_modules.self,
                from: &rest,
                magic: CARILLON_CRASH_MODULES_MAGIC
            ) {
                modules = Self.modules(found)
            } else {
                break
            }
        }
        guard var report = last else { return nil }
        let count = min(Int(report.frame_count), Int(CARILLON_CRASH_FRAMES))
        let frames = withUnsafeBytes(of: &report.frames) { Array($0.bindMemory(to: UInt64.self).prefix(count)) }
        addresses = frames.first == report.counter ? frames : [report.counter] + frames
        signal = report.signal
        id = report.id
        call = UInt16(exactly: report.kind).flatMap(FrameKind.init(rawValue:))
        isInTimer = report.kind == PongMessage.Call.timer
    }

    /// Takes the struct at the start of `bytes` if it has that magic number; otherwise takes no bytes and returns nil.
    private static func take<Struct>(_ type: Struct.Type, from bytes: inout ArraySlice<UInt8>, magic: UInt32) -> Struct?
    {
        guard bytes.count >= MemoryLayout<Struct>.size else { return nil }
        let (number, found) = bytes.withUnsafeBytes { ($0.loadUnaligned(as: UInt32.self), $0.loadUnaligned(as: type)) }
        guard number == magic else { return nil }
        bytes = bytes.dropFirst(MemoryLayout<Struct>.size)
        return found
    }

    private static func modules(_ found: carillon_crash_modules) -> [DescriptorMessage.Module] {
        let count = min(Int(found.count), Int(CARILLON_CRASH_MODULES))
        return withUnsafeBytes(of: found.modules) {
            $0.bindMemory(to: carillon_crash_module.self).prefix(count).map(Self.module)
        }
    }

    private static func module(_ found: carillon_crash_module) -> DescriptorMessage.Module {
        let name = withUnsafeBytes(of: found.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return DescriptorMessage.Module(name: name, start: found.start, size: found.size)
    }

    /// The top of the stack in one line, such as `libx.so+0x12 < libx.so+0x40`.
    func stack(_ modules: [DescriptorMessage.Module]) -> String {
        let modules = self.modules + modules
        return addresses.prefix(6).map { Self.name(of: $0, modules) }.joined(separator: " < ")
    }

    /// The files of the libraries in the stack, innermost first.
    func files(_ modules: [DescriptorMessage.Module]) -> [String] {
        let modules = self.modules + modules
        return addresses.compactMap { Self.module(of: $0, modules).map(Self.file) }
    }

    private static func module(of address: UInt64, _ modules: [DescriptorMessage.Module]) -> DescriptorMessage.Module? {
        modules.first { address >= $0.start && address - $0.start < $0.size }
    }

    private static func file(_ module: DescriptorMessage.Module) -> String {
        module.name.split(separator: "/").last.map(String.init) ?? module.name
    }

    private static func name(of address: UInt64, _ modules: [DescriptorMessage.Module]) -> String {
        guard let module = module(of: address, modules) else { return "0x" + String(address, radix: 16) }
        return "\(PluginText.printable(file(module), limit: 64))+0x\(String(address - module.start, radix: 16))"
    }

    static func name(ofSignal signal: Int32) -> String {
        switch signal {
        case SIGSEGV: "SIGSEGV"
        case SIGBUS: "SIGBUS"
        case SIGILL: "SIGILL"
        case SIGFPE: "SIGFPE"
        case SIGABRT: "SIGABRT"
        case SIGTRAP: "SIGTRAP"
        case SIGSYS: "SIGSYS"
        case SIGKILL: "SIGKILL"
        case SIGTERM: "SIGTERM"
        case SIGXCPU: "SIGXCPU"
        case SIGXFSZ: "SIGXFSZ"
        case SIGPIPE: "SIGPIPE"
        default: "signal \(signal)"
        }
    }
}
