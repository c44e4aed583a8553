// Two races that ThreadSanitizer must find with the suppressions of contrib/sanitize.thread, or a run that finds
// nothing means nothing; and a counter behind a Mutex, of which it must say nothing. The first argument says which.
import Dispatch
import Synchronization

/// Unchecked: that it is not safe is what it is for.
final class Unguarded: @unchecked Sendable { var count = 0 }

let unguarded = Unguarded()
let guarded = Mutex(0)
switch CommandLine.arguments.dropFirst().first {
case "tasks":
    await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { for _ in 0..<100_000 { unguarded.count &+= 1 } } }
    }
case "queues":
    let queues = (0..<8).map { DispatchQueue(label: "queue \($0)") }
    let group = DispatchGroup()
    for queue in queues { queue.async(group: group) { for _ in 0..<100_000 { unguarded.count &+= 1 } } }
    group.wait()
default:
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
        for _ in 0..<100_000 { guarded.withLock { $0 &+= 1 } }
    }
}
