import CNghttp2

/// Memory for one nghttp2 session: small blocks go back to a list instead of to malloc, which the library asks several
/// times for every request. It must outlive its session; both belong to one event loop.
final class FreelistAllocator {
    private struct List {
        var head: UnsafeMutableRawPointer?
        var count = 0
    }

    private static let header = 16
    private static let granularity = 64
    private static let classes = 32
    private static let keptPerClass = 4_096
    private static let unpooled = UInt(classes)

    /// One for each class of sizes. nghttp2 hands this pointer back, so that no object is looked at on the way.
    private let lists: UnsafeMutablePointer<List>

    init() {
        lists = .allocate(capacity: Self.classes)
        lists.initialize(repeating: List(), count: Self.classes)
    }

    deinit {
        for sizeClass in 0..<Self.classes {
            var next = lists[sizeClass].head
            while let block = next {
                next = block.load(as: UnsafeMutableRawPointer?.self)
                block.deallocate()
            }
        }
        lists.deallocate()
    }

    /// What nghttp2 takes; valid as long as this object.
    var functions: nghttp2_mem {
        nghttp2_mem(
            mem_user_data: lists,
            malloc: { size, lists in FreelistAllocator.allocate(size, lists) },
            free: { block, lists in FreelistAllocator.release(block, lists) },
            calloc: { count, size, lists in
                let (total, overflow) = count.multipliedReportingOverflow(by: size)
                guard !overflow, let block = FreelistAllocator.allocate(total, lists) else { return nil }
                block.initializeMemory(as: UInt8.self, repeating: 0, count: total)
                return block
            },
            realloc: { block, size, lists in FreelistAllocator.reallocate(block, size, lists) }
        )
    }

    /// The block's first sixteen bytes say its class and its size and stay in front of what the caller sees.
    private static func allocate(_ size: Int, _ user: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let lists = user?.assumingMemoryBound(to: List.self) else { return nil }
        let sizeClass = (max(size, 1) + header - 1) / granularity
        let block: UnsafeMutableRawPointer
        if sizeClass < classes, let head = lists[sizeClass].head {
            lists[sizeClass].head = head.load(as: UnsafeMutableRawPointer?.self)
            lists[sizeClass].count -= 1
            block = head
        } else {
            block = .allocate(byteCount: (sizeClass + 1) * granularity, alignment: header)
        }
        block.storeBytes(of: sizeClass < classes ? UInt(sizeClass) : unpooled, as: UInt.self)
        block.storeBytes(of: size, toByteOffset: 8, as: Int.self)
        return block + header
    }

    private static func release(_ visible: UnsafeMutableRawPointer?, _ user: UnsafeMutableRawPointer?) {
        guard let visible, let lists = user?.assumingMemoryBound(to: List.self) else { return }
        let block = visible - header
        let sizeClass = Int(block.load(as: UInt.self))
        guard sizeClass < classes, lists[sizeClass].count < keptPerClass else {
            block.deallocate()
            return
        }
        block.storeBytes(of: lists[sizeClass].head, as: UnsafeMutableRawPointer?.self)
        lists[sizeClass].head = block
        lists[sizeClass].count += 1
    }

    private static func reallocate(
        _ visible: UnsafeMutableRawPointer?,
        _ size: Int,
        _ user: UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
        guard let visible else { return allocate(size, user) }
        let old = (visible - header).load(fromByteOffset: 8, as: Int.self)
        guard let grown = allocate(size, user) else { return nil }
        grown.copyMemory(from: visible, byteCount: min(old, size))
        release(visible, user)
        return grown
    }
}
