//! What real libraries do, as text: policies in the language of scenarios, and what they mirror.
//!
//! The texts lie in `presets/`, a file for each family, so that a preset can be read, copied and
//! changed without a compiler; `scenario::presets` reads them. Each names its library, version and
//! source, and says in `not_yet` what of it is not simulated.

/// The files, by their names, with their texts; presets are listed in this order.
pub const FAMILIES: [(&str, &str); 14] = [
    ("polly.yaml", include_str!("../../presets/polly.yaml")),
    ("dotnet-data.yaml", include_str!("../../presets/dotnet-data.yaml")),
    ("cockatiel.yaml", include_str!("../../presets/cockatiel.yaml")),
    ("jvm.yaml", include_str!("../../presets/jvm.yaml")),
    ("grpc.yaml", include_str!("../../presets/grpc.yaml")),
    ("mesh.yaml", include_str!("../../presets/mesh.yaml")),
    ("aws.yaml", include_str!("../../presets/aws.yaml")),
    ("google.yaml", include_str!("../../presets/google.yaml")),
    ("python.yaml", include_str!("../../presets/python.yaml")),
    ("go.yaml", include_str!("../../presets/go.yaml")),
    ("queues.yaml", include_str!("../../presets/queues.yaml")),
    ("libraries.yaml", include_str!("../../presets/libraries.yaml")),
    ("systems.yaml", include_str!("../../presets/systems.yaml")),
    ("mission.yaml", include_str!("../../presets/mission.yaml")),
];
