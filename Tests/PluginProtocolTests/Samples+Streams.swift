import CarillonABI
import PluginProtocol

extension Sample {
    private static var target: carillon_stream_target {
        var target = carillon_stream_target()
        target.struct_size = UInt32(MemoryLayout<carillon_stream_target>.size)
        target.flags = UInt32(CARILLON_STREAM_TLS)
        target.host = carillon_str("mail.example.com")
        target.port = 465
        target.connect_timeout_ms = 30_000
        target.authorities = carillon_str("PEM")
        return target
    }

    private static func bytes(_ kind: FrameKind, _ text: StaticString) -> Sample {
        Sample(kind, id: 5) { writer in
            StreamBytesMessage.write(
                UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount),
                to: &writer
            )
        } copy: { frame, writer throws(ProtocolError) in
            let bytes = try StreamBytesMessage(reading: frame).bytes
            StreamBytesMessage.write(UnsafeRawBufferPointer(start: bytes.ptr, count: bytes.len), to: &writer)
        }
    }

    private static func count(_ kind: FrameKind, _ total: UInt64) -> Sample {
        Sample(kind, id: 5) {
            StreamCountMessage(total: total).write(to: &$0)
        } copy: { frame, writer throws(ProtocolError) in
            let message = try StreamCountMessage(reading: frame)
            message.write(to: &writer)
        }
    }

    /// The frames about streams.
    static var streams: [Sample] {
        [
            Sample(.streamOpened, id: 5) { _ in
            } copy: { frame, _ throws(ProtocolError) in
                try StreamOpenedMessage.read(frame)
            },
            bytes(.streamReceived, "220 ready\r\n"),
            count(.streamDrained, 70_000),
            bytes(.streamClosed, "tls-name"),
            Sample(.streamOpen, id: 5) {
                StreamOpenMessage.write(instance: 7, target, to: &$0)
            } copy: { frame, writer throws(ProtocolError) in
                let message = try StreamOpenMessage(reading: frame)
                message.withCStruct { StreamOpenMessage.write(instance: message.instance, $0.pointee, to: &writer) }
            },
            bytes(.streamWrite, "QUIT\r\n"),
            count(.streamStartTLS, 11),
            Sample(.streamClose, id: 5) {
                StreamCloseMessage(.told).write(to: &$0)
            } copy: { frame, writer throws(ProtocolError) in
                let message = try StreamCloseMessage(reading: frame)
                message.write(to: &writer)
            },
            count(.streamTaken, 65_536),
        ]
    }
}
