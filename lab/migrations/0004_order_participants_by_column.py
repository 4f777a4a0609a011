from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("lab", "0003_classes"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="participant",
            options={"ordering": ("classroom_id", "number")},
        ),
    ]
