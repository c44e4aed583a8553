import Rules

/// The schema of the block on the API.
enum APISchema {
    static var schema: JSONTree {
        SchemaParts.mapping(
            "What operators, their tools and monitoring ask the running router: health, metrics, devices, reload.",
            required: ["token_file"],
            [
                ("listen", SchemaParts.text("An address and a port; 127.0.0.1:7448 when left out.")),
                ("token_file", SchemaParts.text("The file with the token that opens it; made on the first start.")),
                ("open_metrics", SchemaParts.flag("Show metrics without the token too.")),
            ]
        )
    }
}
