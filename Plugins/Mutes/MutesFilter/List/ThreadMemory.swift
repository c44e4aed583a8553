import PluginKit

/// Events that are known to belong to threads which somebody mutes. Bounded.
struct ThreadMemory {
    private var threads: RecentKeys<Key32, Key32>

    init(capacity: Int) {
        threads = RecentKeys(capacity: capacity)
    }

    /// Whether the event `id`, which names `named`, is or belongs to one of `muted`. What does is remembered, so that its
    /// children belong to it too.
    mutating func isPart(_ id: Key32, naming named: some Sequence<Key32>, of muted: Set<Key32>) -> Bool {
        if muted.contains(id) { return true }
        for key in named {
            let thread = muted.contains(key) ? key : threads.value(of: key)
            guard let thread, muted.contains(thread) else { continue }
            threads.set(thread, for: id)
            return true
        }
        return false
    }
}
