import CNghttp2

/// Memory for one nghttp2 session: small blocks go back to a list instead of to malloc, which the library asks several
/// times for every request. It must outlive its session; both belong to one event loop.
final class FreelistAllocator {
    private static let header = 16
    private static let granularity = 64
    private static let classes = 32
    private static let keptPerClass = 4_096
    private static let unpooled = UInt(classes)

    private var free = [UnsafeMutableRawPointer?](repeating: nil, count: classes)
    private var kept = [Int](repeating: 0, count: classes)

    /// What nghttp2 takes; holds this object unretained.
    var functions: nghttp2_mem {
        nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { size, user in FreelistAllocator.from(user)?.allocate(size) },
            free: { block, user in FreelistAllocator.from(user)?.release(block) },
            calloc: { count, size, user in
                let (total, overflow) = count.multipliedReportingOverflow(by: size)
                guard !overflow, let block = FreelistAllocator.from(user)?.allocate(total) else { return nil }
                block.initializeMemory(as: UInt8.self, repeating: 0, count: total)
                return block
            },
            realloc: { block, size, user in FreelistAllocator.from(user)?.reallocate(block, size) }
        )
    }

    deinit {
        for head in free {
            var next = head
            while let block = next {
                next = block.load(as: UnsafeMutableRawPointer?.self)
                block.deallocate()
            }
        }
    }

    private static func from(_ user: UnsafeMutableRawPointer?) -> FreelistAllocator? {
        user.map { Unmanaged<FreelistAllocator>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The block's first sixteen bytes say its class and its size and stay in front of what the caller sees.
    private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        let sizeClass = (max(size, 1) + Self.header - 1 + Self.granularity) / Self.granularity - 1
        let block: UnsafeMutableRawPointer
        if sizeClass < Self.classes, let head = free[sizeClass] {
            free[sizeClass] = head.load(as: UnsafeMutableRawPointer?.self)
            kept[sizeClass] -= 1
            block = head
        } else {
            block = .allocate(byteCount: (sizeClass + 1) * Self.granularity, alignment: Self.header)
        }
        block.storeBytes(of: sizeClass < Self.classes ? UInt(sizeClass) : Self.unpooled, as: UInt.self)
        block.storeBytes(of: size, toByteOffset: 8, as: Int.self)
        return block + Self.header
    }

    private func release(_ visible: UnsafeMutableRawPointer?) {
        guard let visible else { return }
        let block = visible - Self.header
        let sizeClass = Int(block.load(as: UInt.self))
        guard sizeClass < Self.classes, kept[sizeClass] < Self.keptPerClass else {
            block.deallocate()
            return
        }
        block.storeBytes(of: free[sizeClass], as: UnsafeMutableRawPointer?.self)
        free[sizeClass] = block
        kept[sizeClass] += 1
    }

    private func reallocate(_ visible: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
        guard let visible else { return allocate(size) }
        let old = (visible - Self.header).load(fromByteOffset: 8, as: Int.self)
        guard let grown = allocate(size) else { return nil }
        grown.copyMemory(from: visible, byteCount: min(old, size))
        release(visible)
        return grown
    }
}
