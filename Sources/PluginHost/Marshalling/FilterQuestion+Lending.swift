import CarillonABI
import Notifications
import Units

extension FilterQuestion {
    /// Lends the question for the time of `body`. `rendered` is the notification that goes with it; `edit` stands for
    /// what the filter says.
    func lend<Result>(
        _ rendered: Notification?,
        edit: OpaquePointer?,
        _ body: (UnsafePointer<carillon_filter_call>) -> Result
    ) -> Result {
        var call = carillon_filter_call()
        call.struct_size = UInt32(MemoryLayout<carillon_filter_call>.size)
        call.zap_millisats = zapMillisats
        call.now_unix_ms = UInt64(clamping: now.milliseconds)
        call.follow_distance = carillon_follow_distance(rawValue: followDistance.rawValue) ?? .CARILLON_DISTANCE_UNKNOWN
        call.edit = edit
        call.set = filterSet
        let texts = [recipient, signal.rawValue, author, relation]
        let textBytes = texts.reduce(0) { $0 + $1.utf8.count }
        return withUnsafeTemporaryAllocation(byteCount: textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: 0, textBytes: textBytes)
            call.recipient = memory.text(recipient)
            call.signal = memory.text(signal.rawValue)
            call.author = memory.text(author)
            call.relation = memory.text(relation)
            return lendEvents { event, others in
                call.event = event
                return others.withUnsafeBufferPointer { others in
                    call.recipient_events = others.isEmpty ? nil : others.baseAddress
                    call.recipient_event_count = others.count
                    guard let rendered else { return body(&call) }
                    return rendered.lendToFilter { notification in
                        call.notification = notification
                        return body(&call)
                    }
                }
            }
        }
    }

    /// Events are long: they are lent where they lie.
    private func lendEvents<Result>(_ body: (carillon_str, [carillon_str]) -> Result) -> Result {
        func lend(_ rest: ArraySlice<[UInt8]>, behind lent: [carillon_str]) -> Result {
            guard let next = rest.first else { return body(lent[0], Array(lent.dropFirst())) }
            return next.withUnsafeBytes { bytes in
                lend(rest.dropFirst(), behind: lent + [carillon_str(ptr: bytes.baseAddress, len: bytes.count)])
            }
        }
        return lend(([event] + recipientEvents)[...], behind: [])
    }
}
