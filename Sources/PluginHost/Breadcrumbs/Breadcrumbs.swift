import CBreadcrumbs
import CarillonABI
import Cipher
import Foundation
import Logging
import PluginIsolation
import Synchronization
import Units

/// Notes in a file what plugins in the router's own process are given, and keeps from them what the process ended on
/// twice. For plugins in processes of their own, `PluginIsolation` does the same without a restart of the router.
///
/// One process has one of these: threads write into the file that was opened last.
package final class Breadcrumbs: Sendable {
    private static let slots = 1024
    private static let magic: UInt64 = 0x3142_4D52_435F_5243

    /// The mapped file: what each thread is inside of, then the suspects.
    ///
    /// Unchecked: a thread writes to its own slot only, and the suspects are written before others know of this.
    private struct Slots: @unchecked Sendable {
        let crumbs: UnsafeMutableBufferPointer<carillon_crumb>
    }

    private let suspects: Mutex<CrashSuspects>
    private let hasSuspects: Bool
    private let isAlone: Atomic<Bool>
    /// Held during a call while calls go one by one. Recursive: a plugin's call may lead to another.
    private let turn = NSRecursiveLock()
    private let setAside = Mutex<[String: Int]>([:])
    private let now: @Sendable () -> Timestamp
    private let log: Logger

    /// Opens the file, or makes it, and reads what it says about the last run.
    ///
    /// - Throws: `CocoaError` or `POSIXError` where the file cannot be made, read or mapped.
    package init(file: String, log: Logger, now: @escaping @Sendable () -> Timestamp = Timestamp.now) throws {
        let slots = try Self.map(file)
        let (former, interrupted) = Self.read(slots)
        let found = CrashSuspects(known: former, interrupted: interrupted, now: now())
        for call in interrupted {
            log.error(
                "The last run ended while a plugin was at work in the router's own process",
                metadata: ["plugin": "\(call.plugin)", "function": "\(call.function)"]
            )
        }
        Self.write(found.all, to: slots)
        carillon_crumbs_open(slots.crumbs.baseAddress, Self.slots)
        hasSuspects = !found.all.isEmpty
        isAlone = Atomic(found.isAlone(now: now()))
        suspects = Mutex(found)
        self.now = now
        self.log = log
    }

    // MARK: The file

    private static func map(_ file: String) throws -> Slots {
        let count = slots + CrashSuspects.capacity
        let size = count * MemoryLayout<carillon_crumb>.stride
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(descriptor) }
        // A file of another size is of another release, or none of ours.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size == size || ftruncate(descriptor, 0) == 0,
            ftruncate(descriptor, off_t(size)) == 0,
            let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
        else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let crumbs = UnsafeMutableRawBufferPointer(start: memory, count: size).bindMemory(to: carillon_crumb.self)
        return Slots(crumbs: crumbs)
    }

    /// The suspects of earlier runs, and what was inside when the last one ended.
    private static func read(_ slots: Slots) -> ([CrashSuspects.Entry], [InterruptedCall]) {
        let interrupted = slots.crumbs.prefix(Self.slots).compactMap { InterruptedCall($0) }
        let former = slots.crumbs.dropFirst(Self.slots).compactMap { crumb in
            InterruptedCall(crumb).map { call in
                CrashSuspects.Entry(
                    call,
                    deaths: crumb.deaths,
                    at: Timestamp(seconds: Int64(clamping: crumb.seconds))
                )
            }
        }
        return (former, interrupted)
    }

    private static func write(_ entries: [CrashSuspects.Entry], to slots: Slots) {
        slots.crumbs.update(repeating: carillon_crumb())
        for (index, entry) in entries.prefix(CrashSuspects.capacity).enumerated() {
            slots.crumbs[Self.slots + index] = carillon_crumb(entry)
        }
    }

    // MARK: Calls

    /// Whether the process ended twice on this, so that the plugin must not be given it again.
    func isGuilty(_ plugin: String, _ subject: @autoclosure () -> String) -> Bool {
        guard hasSuspects else { return false }
        let subject = subject()
        guard suspects.withLock({ $0.isGuilty(plugin: plugin, subject: subject) }) else { return false }
        setAside.withLock { $0[plugin, default: 0] += 1 }
        log.error(
            "Something is kept from a plugin: the router ended twice while the plugin was at work on it",
            metadata: ["plugin": "\(plugin)", "subject": "\(subject)"]
        )
        return true
    }

    /// Whether calls go one by one at the moment.
    var isTryingAlone: Bool { isAlone.load(ordering: .relaxed) }

    /// Calls the plugin, and notes that it is inside.
    func during<Result>(
        _ function: InterruptedCall.Function,
        _ plugin: StaticName,
        _ subject: carillon_str,
        _ body: () -> Result
    ) -> Result {
        let takesTurn = isAlone.load(ordering: .relaxed)
        if takesTurn {
            turn.lock()
            noteAlone(plugin.text, Self.text(subject))
        }
        var former = carillon_crumb()
        carillon_crumb_enter(&former, function.rawValue, plugin.bytes, plugin.count, subject.ptr, subject.len)
        defer {
            carillon_crumb_leave(&former)
            if takesTurn { turn.unlock() }
        }
        return body()
    }

    private func noteAlone(_ plugin: String, _ subject: String) {
        let now = now()
        let isStillAlone = suspects.withLock { suspects in
            suspects.begins(plugin: plugin, subject: subject, now: now)
            return suspects.isAlone(now: now)
        }
        if !isStillAlone { isAlone.store(false, ordering: .relaxed) }
    }

    private static func text(_ subject: carillon_str) -> String {
        let bytes = UnsafeRawBufferPointer(start: subject.ptr, count: subject.ptr == nil ? 0 : subject.len)
        return String(decoding: bytes.prefix(Int(CARILLON_CRUMB_TEXT)), as: UTF8.self)
    }

    /// What stands for something that may not be in a file, such as a token.
    static func fingerprint(_ what: carillon_str) -> String {
        let bytes = UnsafeRawBufferPointer(start: what.ptr, count: what.ptr == nil ? 0 : what.len)
        return SHA256.hash(bytes).prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    // MARK: Reporting

    /// How the plugins are doing on which the router ended, one report each.
    var reports: [PluginProcessReport] {
        let setAside = setAside.withLock(\.self)
        let entries = Dictionary(grouping: suspects.withLock(\.all), by: \.call.plugin)
        return entries.sorted { $0.key < $1.key }.map { plugin, entries in
            PluginProcessReport(
                plugins: [plugin],
                process: getpid(),
                state: .running,
                deaths: entries.reduce(0) { $0 + Int($1.deaths) },
                lastDeath: entries.last.map {
                    "\(plugin): the router itself ended while it was in \($0.call.function)"
                },
                setAside: setAside[plugin] ?? 0,
                confinement: ""
            )
        }
    }
}

/// A name that lives until the process ends, so that a note of it costs nothing.
///
/// Unchecked: the bytes never change.
struct StaticName: @unchecked Sendable {
    let text: String
    let bytes: UnsafePointer<CChar>
    let count: Int

    init(_ text: String) {
        let utf8 = Array(text.utf8)
        let room = UnsafeMutableRawPointer.allocate(byteCount: utf8.count + 1, alignment: 1)
        room.copyMemory(from: utf8 + [0], byteCount: utf8.count + 1)
        bytes = UnsafePointer(room.assumingMemoryBound(to: CChar.self))
        count = utf8.count
        self.text = text
    }
}

extension InterruptedCall {
    /// Nil: the crumb is of no call, or malformed.
    fileprivate init?(_ crumb: carillon_crumb) {
        guard let function = Function(rawValue: crumb.call), crumb.plugin_length <= CARILLON_CRUMB_TEXT,
            crumb.subject_length <= CARILLON_CRUMB_TEXT
        else { return nil }
        let plugin = withUnsafeBytes(of: crumb.plugin) { $0.prefix(Int(crumb.plugin_length)).map(\.self) }
        let subject = withUnsafeBytes(of: crumb.subject) { $0.prefix(Int(crumb.subject_length)).map(\.self) }
        self.init(
            plugin: PluginText.printable(String(decoding: plugin, as: UTF8.self)),
            function: function,
            subject: PluginText.printable(String(decoding: subject, as: UTF8.self))
        )
    }
}

extension carillon_crumb {
    fileprivate init(_ entry: CrashSuspects.Entry) {
        self.init()
        call = entry.call.function.rawValue
        deaths = entry.deaths
        seconds = UInt64(clamping: entry.at.seconds)
        plugin_length = withUnsafeMutableBytes(of: &plugin) { $0.fill(from: entry.call.plugin) }
        subject_length = withUnsafeMutableBytes(of: &subject) { $0.fill(from: entry.call.subject) }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Copies as much of a text as there is room for.
    fileprivate func fill(from text: String) -> UInt32 {
        let bytes = Array(text.utf8.prefix(count))
        copyBytes(from: bytes)
        return UInt32(bytes.count)
    }
}
