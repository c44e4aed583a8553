import CarillonABI

/// A struct of the ABI that starts with `struct_size` and grows at its end. All its fields are plain C, so that a
/// zeroed value is valid.
package protocol ForeignStruct {
    init()
    var struct_size: UInt32 { get set }
}

extension carillon_plugin: ForeignStruct {}
extension carillon_transport: ForeignStruct {}
extension carillon_filter: ForeignStruct {}
extension carillon_filter_call: ForeignStruct {}
extension carillon_outcome: ForeignStruct {}
extension carillon_http_request: ForeignStruct {}
extension carillon_client_certificates: ForeignStruct {}
extension carillon_timers: ForeignStruct {}
extension carillon_states: ForeignStruct {}
extension carillon_streams: ForeignStruct {}
extension carillon_stream_target: ForeignStruct {}
extension carillon_stream_events: ForeignStruct {}
extension carillon_delivery: ForeignStruct {}
extension carillon_inbound: ForeignStruct {}
extension carillon_inbound_request: ForeignStruct {}
extension carillon_inbound_answer: ForeignStruct {}

extension ForeignStruct {
    /// The least that could have been meant: a size and one more word.
    private static var plausibleSizes: ClosedRange<UInt32> { 8...65_536 }

    /// A copy of what `pointer` holds, as far as both sides know it; the rest is zero. Nil when its size cannot be
    /// true.
    package init?(adopting pointer: UnsafePointer<Self>) {
        let foreign = UnsafeRawPointer(pointer)
        let size = foreign.loadUnaligned(as: UInt32.self)
        guard Self.plausibleSizes.contains(size) else { return nil }
        self.init()
        withUnsafeMutableBytes(of: &self) { own in
            own.copyMemory(from: UnsafeRawBufferPointer(start: foreign, count: min(Int(size), own.count)))
        }
    }
}
